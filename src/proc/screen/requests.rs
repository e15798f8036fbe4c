//! Requests that come as device control strings, which vt100 swallows unseen.

/// Longer than any request a program makes.
const CAP_BYTES: usize = 1024;

/// Finds `DCS + q … ST` (terminfo capabilities) and `DCS $ q … ST` (settings) in output that is cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Requests {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// Within a string; longer ones than the cap are forgotten and left unanswered.
    String(Vec<u8>),
    StringEscape(Vec<u8>),
}

impl Requests {
    /// Returns the length up to the end of the next request in `bytes`, and the answer to it.
    pub fn next(&mut self, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        let mut index = 0;
        while index < bytes.len() {
            let byte = bytes[index];
            self.state = match (std::mem::take(&mut self.state), byte) {
                (State::Ground, _) => {
                    // The common case, a whole piece without a single escape, is one search.
                    index += bytes[index..].iter().position(|&byte| byte == 0x1b)?;
                    State::Escape
                }
                (State::Escape, b'P') => State::String(Vec::new()),
                (State::Escape | State::StringEscape(_), 0x1b) => State::Escape,
                (State::Escape, _) => State::Ground,
                (State::String(text), 0x1b) => State::StringEscape(text),
                // Cancelled.
                (State::String(_), 0x18 | 0x1a) => State::Ground,
                (State::String(text), _) if text.len() >= CAP_BYTES => State::Ground,
                (State::String(mut text), byte) => {
                    text.push(byte);
                    State::String(text)
                }
                (State::StringEscape(text), b'\\') => {
                    if let Some(answer) = answer(&text) {
                        return Some((index + 1, answer));
                    }
                    State::Ground
                }
                (State::StringEscape(_), b'P') => State::String(Vec::new()),
                (State::StringEscape(_), _) => State::Ground,
            };
            index += 1;
        }
        None
    }
}

fn answer(request: &[u8]) -> Option<Vec<u8>> {
    if let Some(names) = request.strip_prefix(b"+q") {
        return Some(names.split(|&byte| byte == b';').flat_map(capability).collect());
    }
    // No setting can be told.
    request.starts_with(b"$q").then(|| b"\x1bP0$r\x1b\\".to_vec())
}

/// Answers for one capability, whose name is written in hexadecimal.
fn capability(name: &[u8]) -> Vec<u8> {
    let value = match unhex(name).as_deref() {
        Some(b"TN" | b"name") => Some("xterm-256color"),
        Some(b"Co" | b"colors") => Some("256"),
        Some(b"RGB") => Some("8/8/8"),
        Some(_) | None => None,
    };
    let mut reply = match value {
        Some(_) => b"\x1bP1+r".to_vec(),
        None => b"\x1bP0+r".to_vec(),
    };
    reply.extend(name.iter().filter(|byte| byte.is_ascii_hexdigit()));
    if let Some(value) = value {
        reply.push(b'=');
        reply.extend(value.bytes().flat_map(|byte| format!("{byte:02X}").into_bytes()));
    }
    reply.extend_from_slice(b"\x1b\\");
    reply
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    (0..text.len())
        .step_by(2)
        .map(|start| u8::from_str_radix(text.get(start..start + 2)?, 16).ok())
        .collect()
}
