//! Separates the code of a Rust file from comments and literals.

use std::ops::Range;

use crate::mutants::{Kind, Language, block_comment, tokens};

/// Replaces each byte of a literal, including line ends.
pub(super) const LITERAL: u8 = b'"';

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
    let mut code = RustCode {
        bytes: text.as_bytes().to_vec(),
        docs: Vec::new(),
    };
    let mut at = 0;
    for token in tokens(text, Language::Rust) {
        code.blank(text, at..token.start);
        at = token.end;
        match token.kind {
            // The letter of `b"…"` and `c"…"` stays.
            Kind::Text | Kind::Character => {
                let letters = usize::from(text[token.start..].starts_with(['b', 'c']));
                code.bytes[token.start + letters..at].fill(LITERAL);
            }
            Kind::Word | Kind::Number | Kind::Opaque | Kind::Punct => {}
        }
    }
    code.blank(text, at..text.len());
    code
}

impl RustCode {
    /// Replaces what stands between two tokens: comments and blanks.
    fn blank(&mut self, text: &str, range: Range<usize>) {
        let mut at = range.start;
        while let Some(start) = text[at..range.end].find('/').map(|found| at + found) {
            let rest = &text[start..range.end];
            let (style, length) = match rest.starts_with("//") {
                true => (DocStyle::Line, rest.find('\n').unwrap_or(rest.len())),
                false => (DocStyle::Block, block_comment(rest, true)),
            };
            at = start + length;
            let (third, fourth) = (rest.as_bytes().get(2), rest.as_bytes().get(3));
            // Not documentation: `////`, `/***` and `/**/`.
            let is_outer = match style {
                DocStyle::Line => third == Some(&b'/') && fourth != Some(&b'/'),
                DocStyle::Block => third == Some(&b'*') && !matches!(fourth, Some(b'*' | b'/')),
            };
            let is_inner = third == Some(&b'!');
            if is_outer || is_inner {
                self.docs.push(DocComment {
                    range: start..at,
                    style,
                    is_inner,
                });
            }
        }
        let blanks = self.bytes[range].iter_mut().filter(|byte| **byte != b'\n');
        blanks.for_each(|byte| *byte = b' ');
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
