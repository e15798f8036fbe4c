//! Server-sent events: bytes in, the data of whole events out, wherever the bytes are cut.

/// Most bytes of one event. A model's longest arguments come in many.
const EVENT_CAP_BYTES: usize = 8 << 20;

/// An event is larger than any that a model sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the event that has no end yet.
    data: Option<String>,
}

impl Events {
    /// Takes the next bytes; returns the data of the events that end in them. Comments and other fields are left out.
    ///
    /// # Errors
    /// [`TooLarge`]; what follows makes no sense then.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLarge> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > EVENT_CAP_BYTES {
                return Err(TooLarge);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                events.extend(self.take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])));
            }
        }
        Ok(events)
    }

    /// The event that the stream ended in, if its last line is whole: some servers leave out the empty one after it.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        }
        self.data.take()
    }

    fn take(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return self.data.take();
        }
        if let Some(data) = line.strip_prefix("data:") {
            let data = data.strip_prefix(' ').unwrap_or(data);
            match &mut self.data {
                Some(known) => {
                    known.push('\n');
                    known.push_str(data);
                }
                None => self.data = Some(data.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let stream = ": ping\r\n\r\nevent: x\ndata: {\"a\":\ndata: \"ü\"}\n\ndata:[DONE]\n";
        let wanted = ["{\"a\":\n\"ü\"}", "[DONE]"];
        for cut in 0..=stream.len() {
            let mut events = Events::default();
            let mut found = events.feed(&stream.as_bytes()[..cut]).unwrap();
            found.extend(events.feed(&stream.as_bytes()[cut..]).unwrap());
            found.extend(events.end());
            assert_eq!(found, wanted, "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut events = Events::default();
        assert_eq!(events.feed(&vec![b'x'; EVENT_CAP_BYTES + 1]), Err(TooLarge));
    }
}
