//! Messages that follow a header with their length, as language servers have them. Pure.
//!
//! Other output is skipped: some servers print to their stdout.

use ralph_text::json_rpc::JsonRpcMessage;
use serde_json::Value;

/// Most bytes of a message. The longest responses are lists of symbols, with some hundred bytes each.
const MESSAGE_CAP_BYTES: usize = 32 << 20;
const HEADER_LINE_BYTES: usize = 4 << 10;

/// A message with its header.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Parses messages from bytes, cut at any position.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    next: NextPart,
    /// The bytes of the next part that have arrived.
    unread: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum NextPart {
    /// A line of a header, which has given this length so far.
    Header(Option<usize>),
    /// A message of this length.
    Body(usize),
    /// The rest of a message that exceeds the limit.
    Skipped(usize),
}

impl Default for NextPart {
    fn default() -> Self {
        Self::Header(None)
    }
}

impl Frames {
    /// Takes the next bytes; `take` gets each message that they complete, and `None` for anything else.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Option<JsonRpcMessage>)) {
        self.unread.extend_from_slice(bytes);
        let mut rest = &self.unread[..];
        loop {
            match self.next {
                NextPart::Header(length) => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        break;
                    };
                    let line = String::from_utf8_lossy(&rest[..end]);
                    rest = &rest[end + 1..];
                    let line = line.trim();
                    let (name, value) = line.split_once(':').unwrap_or((line, ""));
                    self.next = match (&*name.to_ascii_lowercase(), value.trim().parse(), length) {
                        ("content-length", Ok(length), _) => NextPart::Header(Some(length)),
                        ("content-type", ..) => NextPart::Header(length),
                        (_, _, None) if line.is_empty() => NextPart::Header(None),
                        (_, _, Some(length)) if line.is_empty() && length <= MESSAGE_CAP_BYTES => {
                            NextPart::Body(length)
                        }
                        (_, _, Some(length)) if line.is_empty() => {
                            take(None);
                            NextPart::Skipped(length)
                        }
                        _ => {
                            take(None);
                            NextPart::Header(None)
                        }
                    };
                }
                NextPart::Body(length) => {
                    let Some((body, after)) = rest.split_at_checked(length) else {
                        break;
                    };
                    take(JsonRpcMessage::parse(body));
                    (self.next, rest) = (NextPart::default(), after);
                }
                NextPart::Skipped(length) => {
                    let skipped = length.min(rest.len());
                    rest = &rest[skipped..];
                    if skipped < length {
                        self.next = NextPart::Skipped(length - skipped);
                        break;
                    }
                    self.next = NextPart::default();
                }
            }
        }
        match rest.len() {
            // Frees the buffer of a large message.
            0 => self.unread = Vec::new(),
            left => _ = self.unread.drain(..self.unread.len() - left),
        }
        // The rest of an overlong line is dropped; its beginning does not parse as a header.
        if let NextPart::Header(_) = self.next {
            self.unread.truncate(HEADER_LINE_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_text::json_rpc::{notification, request};
    use serde_json::json;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Option<JsonRpcMessage>> {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for piece in pieces {
            frames.feed(piece, |said| found.push(said));
        }
        found
    }

    #[test]
    fn messages_are_the_same_wherever_the_stream_is_cut() {
        let mut stream = b"starting up\nContent-Type: x\r\n".to_vec();
        stream.extend(framed(&request(1, "a", &json!({"\u{fc}": 1}))));
        stream.extend(framed(&notification("b", &Value::Null)));
        stream.extend(framed(&json!({"id": 2, "result": null})));
        stream.extend(framed(&json!({"id": 3, "error": {"code": -32801, "message": "m"}})));
        let whole = all(&[&stream]);
        assert_eq!(whole.len(), 5, "{whole:?}");
        assert_eq!(whole[0], None);
        assert!(
            matches!(&whole[4], Some(JsonRpcMessage::Response { id: 3, outcome: Err(error) }) if error["code"] == -32801)
        );
        for at in 0..stream.len() {
            assert_eq!(all(&[&stream[..at], &stream[at..]]), whole, "cut at {at}");
        }
    }

    #[test]
    fn what_is_no_message_is_left_out_and_the_next_one_is_read() {
        let good = framed(&notification("b", &Value::Null));
        let long = vec![b'x'; MESSAGE_CAP_BYTES + 1];
        let too_long = [format!("Content-Length: {}\r\n\r\n", long.len()).as_bytes(), &long].concat();
        for rubbish in [
            b"Content-Length: 3\r\n\r\nabc".to_vec(),
            b"Content-Length: -3\r\n\r\n".to_vec(),
            b"Content-Length: 2\r\n\r\n[]".to_vec(),
            b"Content-Length: 10\r\n\r\n{\"id\":\"x\"}".to_vec(),
            [&vec![b'y'; 1 << 20][..], b"\n"].concat(),
            too_long,
        ] {
            let found = all(&[&rubbish, &good]);
            assert!(
                matches!(&found[..], [None, Some(JsonRpcMessage::Notification { .. })]),
                "{found:?}"
            );
        }
    }
}
