//! The base protocol: JSON-RPC messages, each after a header with its length. Pure.
//!
//! Other output is skipped: some servers print to their stdout.

use serde_json::{Value, json};

/// Most bytes of a message. The longest responses are lists of symbols, with some hundred bytes each.
const MESSAGE_CAP_BYTES: usize = 32 << 20;
const HEADER_LINE_BYTES: usize = 4 << 10;

/// A message with its header.
pub(super) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A message from a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Response {
        id: i64,
        result: Result<Value, ResponseError>,
    },
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Rubbish,
}

/// An error response of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseError {
    pub(super) code: i64,
    pub(super) message: String,
}

impl ResponseError {
    /// Whether the request has to be repeated, since files changed while it was processed.
    pub(super) fn is_passing(&self) -> bool {
        const CONTENT_MODIFIED: i64 = -32801;
        const SERVER_CANCELLED: i64 = -32802;
        [CONTENT_MODIFIED, SERVER_CANCELLED].contains(&self.code)
    }
}

fn parse(body: &[u8]) -> Incoming {
    let Ok(Value::Object(mut message)) = serde_json::from_slice(body) else {
        return Incoming::Rubbish;
    };
    let id = message.remove("id");
    let params = message.remove("params").unwrap_or(Value::Null);
    match (message.remove("method"), id) {
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (Some(Value::String(method)), Some(id)) => Incoming::Request { id, method, params },
        (None, Some(id)) => {
            let Some(id) = id.as_i64() else {
                return Incoming::Rubbish;
            };
            let result = match message.remove("error") {
                None | Some(Value::Null) => Ok(message.remove("result").unwrap_or(Value::Null)),
                Some(error) => Err(ResponseError {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: error["message"]
                        .as_str()
                        .unwrap_or("it refused, and did not say why")
                        .to_owned(),
                }),
            };
            Incoming::Response { id, result }
        }
        (_, _) => Incoming::Rubbish,
    }
}

/// Parses messages from bytes, cut at any position.
#[derive(Debug)]
pub(super) struct Frames {
    state: FrameState,
}

#[derive(Debug)]
enum FrameState {
    Header {
        line: Vec<u8>,
        length: Option<usize>,
    },
    Body {
        bytes: Vec<u8>,
        length: usize,
    },
    /// The rest of a message that exceeds the limit.
    Skipping {
        bytes: usize,
    },
}

const START: FrameState = FrameState::Header {
    line: Vec::new(),
    length: None,
};

impl Default for Frames {
    fn default() -> Self {
        Self { state: START }
    }
}

impl Frames {
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Incoming)) {
        while !bytes.is_empty() {
            let taken = match &mut self.state {
                FrameState::Header { line, length } => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let part = &bytes[..end.unwrap_or(bytes.len())];
                    // An overlong line is truncated; it does not parse as a header, and is skipped up to its end.
                    let room = HEADER_LINE_BYTES.saturating_sub(line.len());
                    line.extend_from_slice(&part[..part.len().min(room)]);
                    if end.is_some() {
                        let read = std::mem::take(line);
                        let text = String::from_utf8_lossy(&read);
                        match (header(text.trim()), *length) {
                            (HeaderLine::Length(found), _) => *length = Some(found),
                            (HeaderLine::End, Some(length)) if length > MESSAGE_CAP_BYTES => {
                                take(Incoming::Rubbish);
                                self.state = FrameState::Skipping { bytes: length };
                            }
                            (HeaderLine::End, Some(length)) => {
                                let bytes = Vec::new();
                                self.state = FrameState::Body { bytes, length };
                                self.finish(&mut take);
                            }
                            (HeaderLine::Other, _) | (HeaderLine::End, None) => {}
                            (HeaderLine::None, _) => {
                                *length = None;
                                take(Incoming::Rubbish);
                            }
                        }
                    }
                    end.map_or(bytes.len(), |end| end + 1)
                }
                FrameState::Body { bytes: body, length } => {
                    let taken = (*length - body.len()).min(bytes.len());
                    body.extend_from_slice(&bytes[..taken]);
                    self.finish(&mut take);
                    taken
                }
                FrameState::Skipping { bytes: left } => {
                    let taken = (*left).min(bytes.len());
                    *left -= taken;
                    if *left == 0 {
                        self.state = START;
                    }
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
    }

    /// Passes on the message once its body is complete.
    fn finish(&mut self, take: &mut impl FnMut(Incoming)) {
        if let FrameState::Body { bytes, length } = &self.state
            && bytes.len() == *length
        {
            take(parse(bytes));
            self.state = START;
        }
    }
}

enum HeaderLine {
    Length(usize),
    Other,
    End,
    /// The line is not part of a header.
    None,
}

fn header(line: &str) -> HeaderLine {
    if line.is_empty() {
        return HeaderLine::End;
    }
    match line.split_once(':') {
        Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
            value.trim().parse().map_or(HeaderLine::None, HeaderLine::Length)
        }
        Some((name, _)) if name.eq_ignore_ascii_case("content-type") => HeaderLine::Other,
        Some(_) | None => HeaderLine::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Incoming> {
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
        assert_eq!(whole[0], Incoming::Rubbish);
        assert!(matches!(&whole[4], Incoming::Response { id: 3, result: Err(refusal) } if refusal.is_passing()));
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
                matches!(&found[..], [Incoming::Rubbish, Incoming::Notification { .. }]),
                "{found:?}"
            );
        }
    }
}
