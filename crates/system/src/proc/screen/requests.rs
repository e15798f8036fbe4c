//! Requests in device control strings, which vt100 ignores.

/// Longest request that is kept; programs make none that long.
pub(super) const CAP_BYTES: usize = 1024;

/// Answers `+ q …` (terminfo capabilities) and `$ q …` (settings), which are the text of such a string.
pub(super) fn answer(string: &[u8]) -> Option<Vec<u8>> {
    if string.len() > CAP_BYTES {
        return None;
    }
    if let Some(names) = string.strip_prefix(b"+q") {
        return Some(names.split(|&byte| byte == b';').flat_map(capability).collect());
    }
    // No setting can be reported.
    string.starts_with(b"$q").then(|| b"\x1bP0$r\x1b\\".to_vec())
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
