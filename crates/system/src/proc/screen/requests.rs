//! Requests in device control strings, which vt100 ignores.

pub(crate) use ralph_text::escapes::{Escapes, Params, Perform};

/// Longest request that is kept; programs make none that long.
const CAP_BYTES: usize = 1024;

/// Finds `DCS + q … ST` (terminfo capabilities) and `DCS $ q … ST` (settings) in output that is cut anywhere.
#[derive(Debug, Default)]
pub(super) struct DcsRequests {
    escapes: Escapes,
    strings: DcsStrings,
}

#[derive(Debug, Default)]
struct DcsStrings {
    /// The current request; one that exceeds the cap is dropped and left unanswered.
    request: Option<DcsRequest>,
    /// A request that is complete if the string terminator comes next.
    closed: Option<DcsRequest>,
    answer: Option<Vec<u8>>,
}

#[derive(Debug)]
struct DcsRequest {
    kind: DcsRequestKind,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum DcsRequestKind {
    Capabilities,
    Setting,
}

impl DcsRequests {
    /// Returns the length up to the end of the next request in `bytes`, and the answer to it.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        let length = self.escapes.feed_until_terminated(bytes, &mut self.strings);
        self.strings.answer.take().map(|answer| (length, answer))
    }
}

impl Perform for DcsStrings {
    fn hook(&mut self, _params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        let kind = match (intermediates, action) {
            (b"+", 'q') => Some(DcsRequestKind::Capabilities),
            (b"$", 'q') => Some(DcsRequestKind::Setting),
            _ => None,
        };
        self.closed = None;
        self.request = kind.map(|kind| DcsRequest { kind, text: Vec::new() });
    }

    fn put(&mut self, byte: u8) {
        self.request = self.request.take().filter(|request| request.text.len() < CAP_BYTES);
        if let Some(request) = &mut self.request {
            request.text.push(byte);
        }
    }

    fn unhook(&mut self) {
        self.closed = self.request.take();
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        let closed = self.closed.take().filter(|_| intermediates.is_empty() && byte == b'\\');
        self.answer = closed.map(|request| answer(&request));
    }

    /// Drops the request, which a control character may have cancelled.
    fn execute(&mut self, _byte: u8) {
        self.closed = None;
    }

    fn csi_dispatch(&mut self, _params: &Params, _intermediates: &[u8], _ignore: bool, _action: char) {
        self.closed = None;
    }

    fn osc_dispatch(&mut self, _params: &[&[u8]], _bell_terminated: bool) {
        self.closed = None;
    }

    fn terminated(&self) -> bool {
        self.answer.is_some()
    }
}

fn answer(request: &DcsRequest) -> Vec<u8> {
    match request.kind {
        DcsRequestKind::Capabilities => request.text.split(|&byte| byte == b';').flat_map(capability).collect(),
        // No setting can be reported.
        DcsRequestKind::Setting => b"\x1bP0$r\x1b\\".to_vec(),
    }
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
