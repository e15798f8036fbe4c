//! The way into a child: bytes that wait until its terminal or its standard input takes them.

use std::os::fd::AsFd;

use nix::{errno::Errno, unistd::write};

/// A non-blocking descriptor, with the bytes that it has not taken yet.
#[derive(Debug)]
pub(super) struct WriteQueue<W> {
    to: W,
    waiting: Vec<u8>,
    cap_bytes: usize,
}

impl<W: AsFd> WriteQueue<W> {
    /// Makes a queue that keeps at most `cap_bytes` waiting.
    pub(super) fn new(to: W, cap_bytes: usize) -> Self {
        Self {
            to,
            waiting: Vec::new(),
            cap_bytes,
        }
    }

    pub(super) fn descriptor(&self) -> &W {
        &self.to
    }

    /// Returns how many more bytes can be kept.
    pub(super) fn room(&self) -> usize {
        self.cap_bytes - self.waiting.len()
    }

    /// Adds bytes and writes what is taken at once. Returns whether any are left waiting. Bytes beyond the cap are
    /// dropped.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.waiting.extend_from_slice(&bytes[..bytes.len().min(self.room())]);
        self.write_waiting()
    }

    /// Writes as much as is taken, and returns whether something is left.
    pub(super) fn write_waiting(&mut self) -> bool {
        let mut written = 0;
        let left = loop {
            if written == self.waiting.len() {
                break false;
            }
            match write(&self.to, &self.waiting[written..]) {
                Ok(taken) => written += taken,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break true,
                // The reading end is closed.
                Err(_) => {
                    written = self.waiting.len();
                    break false;
                }
            }
        };
        self.waiting.drain(..written);
        left
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use nix::fcntl::{FcntlArg, OFlag, fcntl};

    use super::*;

    #[test]
    fn what_is_not_taken_waits_in_order_and_within_the_bound() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let mut queue = WriteQueue::new(writer, 1 << 20);
        let sent: Vec<u8> = (0..2_000_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        assert!(queue.push(&sent), "a pipe does not hold a megabyte");
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        while received.len() < 1 << 20 {
            let read = reader.read(&mut buffer).unwrap();
            received.extend_from_slice(&buffer[..read]);
            queue.write_waiting();
        }
        assert!(
            received == sent[..1 << 20],
            "the bound's bytes arrive, in order, and no more"
        );
        assert_eq!(queue.room(), 1 << 20);
    }

    #[test]
    fn a_pipe_that_nobody_reads_any_more_takes_everything_and_keeps_nothing() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let mut queue = WriteQueue::new(writer, 1 << 10);
        assert!(!queue.push(b"first"));
        let mut got = [0; 5];
        reader.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"first");
        drop(reader);
        assert!(!queue.push(b"second"));
        assert_eq!(queue.room(), 1 << 10);
    }
}
