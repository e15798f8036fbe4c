//! Server-sent events: takes bytes cut at any position, and returns the data of complete events.

/// Most bytes of one event. Long arguments are spread over many events.
const EVENT_CAP_BYTES: usize = 8 << 20;

/// The error for an event that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

#[derive(Debug, Default)]
pub(super) struct Events {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Option<String>,
}

impl Events {
    /// Takes the next bytes; returns the data of the events that they complete. Comments and other fields are ignored.
    ///
    /// # Errors
    /// [`TooLarge`], after which the stream cannot be parsed any further.
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

    /// The event at the end of the stream: some servers omit the final empty line.
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
