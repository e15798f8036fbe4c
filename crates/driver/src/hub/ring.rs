//! The newest bytes of a stream, addressed by their offset from its beginning.

use std::collections::VecDeque;

/// A window on a stream: bytes are appended at its end and dropped at its start.
#[derive(Debug, Default)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    start: u64,
}

impl Ring {
    /// Returns the offset of the oldest byte that is still there.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the offset after the newest byte.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Drops the bytes before `offset`, which is not beyond the end.
    pub(super) fn forget_before(&mut self, offset: u64) {
        let count = self.index(offset);
        self.bytes.drain(..count);
        self.start += count as u64;
    }

    /// Copies the bytes from `from` up to `to`, both of which lie in the window.
    pub(super) fn copy(&self, from: u64, to: u64) -> Vec<u8> {
        let (from, to) = (self.index(from), self.index(to));
        let (first, second) = self.bytes.as_slices();
        let middle = first.len();
        let mut copy = Vec::with_capacity(to - from);
        copy.extend_from_slice(&first[from.min(middle)..to.min(middle)]);
        copy.extend_from_slice(&second[from.max(middle) - middle..to.max(middle) - middle]);
        copy
    }

    /// Returns the index of `offset` in the window; its nearer end for an offset outside.
    fn index(&self, offset: u64) -> usize {
        let index = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        index.min(self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_keeps_its_offset_while_older_ones_are_forgotten() {
        let mut ring = Ring::default();
        let stream: Vec<u8> = (0..=u8::MAX).cycle().take(10_000).collect();
        for (round, piece) in stream.chunks(37).enumerate() {
            ring.append(piece);
            // Around the end of the buffer several times, with every split between its two halves.
            ring.forget_before(ring.end().saturating_sub(100 + round as u64 % 7));
            let (start, end) = (ring.start(), ring.end());
            let expected = |from: u64, to: u64| stream[from as usize..to as usize].to_vec();
            for cut in start..=end {
                assert_eq!(ring.copy(start, cut), expected(start, cut));
                assert_eq!(ring.copy(cut, end), expected(cut, end));
            }
        }
        assert_eq!(ring.end(), 10_000);
    }
}
