//! Server-sent events, from bytes cut at any position.

use std::error::Error;

use futures_util::{
    Stream,
    stream::{StreamExt, TryStreamExt, iter},
};
use ralph_text::with_causes;
use thiserror::Error;

/// Most bytes of one event of a stream.
const EVENT_CAP_BYTES: usize = 64 << 20;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentEvent {
    /// Empty if the server names none, as the id.
    pub event: String,
    pub id: String,
    pub data: String,
}

/// The error for an event that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an event of more than {cap_bytes} bytes")]
pub struct EventTooLarge {
    cap_bytes: usize,
}

/// Reads the events of a response.
pub fn events<B: AsRef<[u8]>, E: Error + 'static>(
    bytes: impl Stream<Item = Result<B, E>>,
) -> impl Stream<Item = Result<SentEvent, String>> {
    let mut reader = EventReader::new(EVENT_CAP_BYTES);
    let events = bytes.map(move |chunk| {
        let chunk = chunk.map_err(|error| with_causes(&error))?;
        let events = reader.feed(chunk.as_ref()).map_err(|error| error.to_string())?;
        Ok::<_, String>(iter(events).map(Ok))
    });
    events.try_flatten()
}

/// Parses events. Comments and other fields are ignored.
#[derive(Debug)]
pub struct EventReader {
    cap_bytes: usize,
    /// The incomplete line.
    line: Vec<u8>,
    /// The fields of the incomplete event.
    data: Option<String>,
    event: String,
    id: String,
}

impl EventReader {
    /// Makes a reader of events with at most `cap_bytes` of data.
    pub fn new(cap_bytes: usize) -> Self {
        Self {
            cap_bytes,
            line: Vec::new(),
            data: None,
            event: String::new(),
            id: String::new(),
        }
    }

    /// Takes the next bytes; returns the events that they complete.
    ///
    /// # Errors
    /// [`EventTooLarge`], after which the stream cannot be parsed any further.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SentEvent>, EventTooLarge> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > self.cap_bytes {
                let cap_bytes = self.cap_bytes;
                return Err(EventTooLarge { cap_bytes });
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                events.extend(self.take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])));
            }
        }
        Ok(events)
    }

    /// The event at the end of the stream: some servers omit the final empty line.
    pub fn end(&mut self) -> Option<SentEvent> {
        let line = std::mem::take(&mut self.line);
        let event = self.take(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        event.or_else(|| self.take(""))
    }

    fn take(&mut self, line: &str) -> Option<SentEvent> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let id = self.id.clone();
            return self.data.take().map(|data| SentEvent { event, id, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", data) => *data = Some(value.to_owned()),
            ("event", _) => value.clone_into(&mut self.event),
            ("id", _) => value.clone_into(&mut self.id),
            (_, _) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP_BYTES: usize = 1 << 20;

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let stream = ": ping\r\n\r\nid: 3\nevent: x\ndata: {\"a\":\ndata: \"ü\"}\n\ndata:[DONE]\n";
        let event = |event: &str, data: &str| SentEvent {
            event: event.to_owned(),
            id: "3".to_owned(),
            data: data.to_owned(),
        };
        let wanted = [event("x", "{\"a\":\n\"ü\"}"), event("", "[DONE]")];
        for cut in 0..=stream.len() {
            let mut events = EventReader::new(CAP_BYTES);
            let mut found = events.feed(&stream.as_bytes()[..cut]).unwrap();
            found.extend(events.feed(&stream.as_bytes()[cut..]).unwrap());
            found.extend(events.end());
            assert_eq!(found, wanted, "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut events = EventReader::new(CAP_BYTES);
        assert!(events.feed(&vec![b'x'; CAP_BYTES + 1]).is_err());
    }
}
