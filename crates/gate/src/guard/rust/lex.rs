//! Separates the code of a Rust file from comments and literals.

use std::ops::Range;

/// Replaces each byte of a literal, including line ends.
pub(super) const LITERAL: u8 = b'"';
/// Most bytes of an escaped character after its `\\`, as in `'\\u{10FFFF}'`.
const ESCAPE_CAP: usize = 12;

/// The code of a file, of the same length: comments are replaced by blanks, literals by [`LITERAL`].
pub(super) struct RustCode {
    pub(super) bytes: Vec<u8>,
    pub(super) docs: Vec<DocComment>,
}

/// A documentation comment.
pub(super) struct DocComment {
    pub(super) range: Range<usize>,
    pub(super) style: DocStyle,
    /// Whether it documents its surroundings, as `//!` does.
    pub(super) is_inner: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocStyle {
    Line,
    Block,
}

pub(super) fn code(text: &str) -> RustCode {
    let from = text.as_bytes();
    let mut code = RustCode {
        bytes: from.to_vec(),
        docs: Vec::new(),
    };
    let mut at = 0;
    while at < from.len() {
        let rest = &from[at..];
        let (end, filler) = match rest[0] {
            b'/' if rest.starts_with(b"//") => (code.comment(at, line_end(from, at), DocStyle::Line, rest), b' '),
            b'/' if rest.starts_with(b"/*") => (code.comment(at, block_end(from, at), DocStyle::Block, rest), b' '),
            b'"' => (string_end(from, at), LITERAL),
            b'\'' => (char_end(text, at), LITERAL),
            b'r' if !follows_name(from, at) => (raw_string_end(from, at), LITERAL),
            _ => (at, LITERAL),
        };
        for byte in &mut code.bytes[at..end] {
            if filler == LITERAL || *byte != b'\n' {
                *byte = filler;
            }
        }
        at = end.max(at + 1);
    }
    code
}

impl RustCode {
    fn comment(&mut self, at: usize, end: usize, style: DocStyle, rest: &[u8]) -> usize {
        let third = rest.get(2).copied();
        // Not documentation: `////`, `/***` and `/**/`.
        let is_outer = match style {
            DocStyle::Line => third == Some(b'/') && rest.get(3) != Some(&b'/'),
            DocStyle::Block => third == Some(b'*') && !matches!(rest.get(3), Some(b'*' | b'/')),
        };
        let is_inner = third == Some(b'!');
        if is_outer || is_inner {
            self.docs.push(DocComment {
                range: at..end,
                style,
                is_inner,
            });
        }
        end
    }

    /// Returns the position of the bracket that closes the one at `open`, or `to`.
    pub(super) fn closing(&self, open: usize, to: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..to {
            match self.bytes[at] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => {}
            }
        }
        to
    }

    /// Returns the position of the first non-blank byte from `at` on, or `to`.
    pub(super) fn skip_blanks(&self, at: usize, to: usize) -> usize {
        (at..to).find(|&at| !self.bytes[at].is_ascii_whitespace()).unwrap_or(to)
    }

    /// Returns the name or keyword at `at`, or an empty string.
    pub(super) fn word(&self, at: usize, to: usize) -> &str {
        let end = (at..to).find(|&at| !is_name(self.bytes[at])).unwrap_or(to);
        self.bytes
            .get(at..end)
            .and_then(|word| std::str::from_utf8(word).ok())
            .unwrap_or("")
    }

    /// Returns the text of a range without comments and blanks.
    pub(super) fn squeezed(&self, text: &str, range: Range<usize>) -> String {
        let bytes = self.bytes.get(range.clone()).unwrap_or_default();
        let pairs = bytes.iter().zip(text.as_bytes().get(range).unwrap_or_default());
        let kept = pairs
            .filter(|(code, _)| !code.is_ascii_whitespace())
            .map(|(_, byte)| *byte);
        String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether the byte at `at` continues a longer name. The prefixes of `br` and `cr` literals do not count.
fn follows_name(from: &[u8], at: usize) -> bool {
    let before = |back: usize| {
        at.checked_sub(back)
            .and_then(|at| from.get(at))
            .is_some_and(|&byte| is_name(byte))
    };
    let prefix = at.checked_sub(1).and_then(|at| from.get(at));
    before(1) && (!matches!(prefix, Some(b'b' | b'c')) || before(2))
}

fn line_end(from: &[u8], at: usize) -> usize {
    from[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(from.len(), |length| at + length)
}

fn block_end(from: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < from.len() {
        if from[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if from[at..].starts_with(b"*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    from.len()
}

fn string_end(from: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < from.len() {
        match from[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    from.len()
}

/// Returns the end of the raw string whose `r` is at `start`; `start` if it is a name.
fn raw_string_end(from: &[u8], start: usize) -> usize {
    let hashes = from[start + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = start + 1 + hashes;
    if from.get(open) != Some(&b'"') {
        return start;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &from[open + 1..];
    // A single search for quotes, so that many hashes take no longer.
    let ends = body
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'"')
        .map(|(at, _)| at);
    let end = ends.into_iter().find(|&at| body[at..].starts_with(&close));
    end.map_or(from.len(), |at| open + 1 + at + close.len())
}

/// Returns the end of the character literal at `start`; `start` if it is a lifetime.
fn char_end(text: &str, start: usize) -> usize {
    let rest = &text[start + 1..];
    let mut chars = rest.char_indices();
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character may be a quote.
            let close = rest.bytes().skip(2).take(ESCAPE_CAP).position(|byte| byte == b'\'');
            close.map_or(start, |close| start + 1 + 2 + close + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => start + 1 + at + 1,
            Some(_) | None => start,
        },
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::code;

    fn code_text(text: &str) -> String {
        let code = String::from_utf8(code(text).bytes).unwrap();
        assert_eq!(code.len(), text.len());
        code.replace('"', " ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        for (text, expected) in [
            ("a // {\nb", "a b"),
            ("a /* { /* } */ { */ b", "a b"),
            ("a \"{ \\\" // \" b", "a b"),
            ("a r\"\\\" b", "a b"),
            ("a r#\"{\"}\"# b", "a b"),
            ("a br##\"\"# {\"## c", "a b c"),
            ("a r#fn b", "a r#fn b"),
            ("bar\"{\" b", "bar b"),
            ("'{' b'\\'' '\\u{7b}' 'ä' x", "b x"),
            ("fn f<'a, 'b>(x: &'a str) { }", "fn f<'a, 'b>(x: &'a str) { }"),
            ("'a: loop { break 'a; }", "'a: loop { break 'a; }"),
            ("\"open {", ""),
            ("/* open {", ""),
            ("r#\"open {\"", ""),
            ("'\\", "'\\"),
            ("'", "'"),
        ] {
            assert_eq!(code_text(text), expected, "{text}");
        }
    }

    #[test]
    fn comments_for_rustdoc_are_told_from_others() {
        let docs = |text| code(text).docs.iter().map(|doc| doc.is_inner).collect::<Vec<_>>();
        assert_eq!(docs("/// a\n//! b\n//// c\n// d\n"), [false, true]);
        assert_eq!(docs("/** a */ /*! b */ /*** c */ /**/ /* d */"), [false, true]);
    }
}
