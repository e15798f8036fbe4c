//! Places in a text: users count lines and columns of characters from 1, servers count lines and units of an encoding
//! from 0. Pure.

use serde_json::{Value, json};

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// The encodings in ralph's order of preference: the first needs no counting.
    pub(super) const OFFERED: [&str; 3] = ["utf-8", "utf-32", "utf-16"];

    /// The encoding that a server has chosen; UTF-16 if it says nothing.
    pub(super) fn chosen(capabilities: &Value) -> Self {
        // clangd used the second field before the protocol defined the first.
        let named = [&capabilities["positionEncoding"], &capabilities["offsetEncoding"]];
        match named.iter().find_map(|name| name.as_str()) {
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            Some(_) | None => Encoding::Utf16,
        }
    }

    fn units(self, character: char) -> usize {
        match self {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A text with an index of its lines, which end with ` `, `\r ` or `\r` as in the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexedText {
    text: String,
    /// The byte range of each line, without its terminator.
    lines: Vec<(usize, usize)>,
}

impl IndexedText {
    pub(super) fn new(text: String) -> Self {
        let bytes = text.as_bytes();
        let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            let end = match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => 2,
                (b'\n' | b'\r', _) => 1,
                (_, _) => 0,
            };
            if end > 0 {
                lines.push((start, at));
                start = at + end;
            }
            at += end.max(1);
        }
        lines.push((start, bytes.len()));
        Self { text, lines }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The number of lines; the last one may be empty.
    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// A line by its index from 0.
    pub(super) fn line(&self, line: usize) -> Option<&str> {
        let (start, end) = *self.lines.get(line)?;
        Some(&self.text[start..end])
    }

    /// The byte offset of a server's position. As in the protocol, a column beyond the end of a line means its end.
    ///
    /// `None` if the line does not exist or the value is not a position.
    pub(super) fn offset(&self, position: &Value, encoding: Encoding) -> Option<usize> {
        let line = usize::try_from(position["line"].as_u64()?).ok()?;
        let units = usize::try_from(position["character"].as_u64()?).ok()?;
        // The line after the last one means the end of the text: servers use it to replace whole lines.
        if line == self.lines.len() && units == 0 {
            return Some(self.text.len());
        }
        let (start, _) = *self.lines.get(line)?;
        let text = self.line(line)?;
        Some(start + before(text, units, encoding).len())
    }
}

/// The server's position on `line` (from 0) after the first `characters`.
pub(super) fn position(line: usize, text: &str, characters: usize, encoding: Encoding) -> Value {
    let units: usize = text
        .chars()
        .take(characters)
        .map(|character| encoding.units(character))
        .sum();
    json!({"line": line, "character": units})
}

/// The column (from 1) after a number of units.
pub(super) fn column(text: &str, units: usize, encoding: Encoding) -> usize {
    before(text, units, encoding).chars().count() + 1
}

/// The text before a number of units; a character that they split is excluded.
fn before(text: &str, units: usize, encoding: Encoding) -> &str {
    let mut counted = 0;
    for (at, character) in text.char_indices() {
        counted += encoding.units(character);
        if counted > units {
            return &text[..at];
        }
    }
    text
}

/// The number of characters before `symbol` as a whole word on a line; `None` if it does not occur.
pub(super) fn word_on(text: &str, symbol: &str) -> Option<usize> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let edge = |beside: Option<char>, own: Option<char>| !(beside.is_some_and(is_word) && own.is_some_and(is_word));
    let found = text.match_indices(symbol).find(|(at, _)| {
        let (head, tail) = (&text[..*at], &text[at + symbol.len()..]);
        edge(head.chars().next_back(), symbol.chars().next()) && edge(tail.chars().next(), symbol.chars().next_back())
    });
    found.map(|(at, _)| text[..at].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters_whatever_the_server_counts() {
        let line = "let süß = \"😀\"; // x";
        for (encoding, units) in [(Encoding::Utf8, 20), (Encoding::Utf16, 16), (Encoding::Utf32, 15)] {
            let at = line.chars().position(|character| character == '/').expect("a comment");
            assert_eq!(
                position(7, line, at, encoding),
                json!({"line": 7, "character": units}),
                "{encoding:?}"
            );
            assert_eq!(column(line, units, encoding), at + 1, "{encoding:?}");
        }
        assert_eq!(column(line, 12, Encoding::Utf16), 12, "within the emoji");
        assert_eq!(column(line, 999, Encoding::Utf16), line.chars().count() + 1);
    }

    #[test]
    fn lines_end_as_the_protocol_says() {
        let text = IndexedText::new("a\r\nb\rc\n😀d".to_owned());
        let lines: Vec<&str> = (0..text.lines()).filter_map(|line| text.line(line)).collect();
        assert_eq!(lines, ["a", "b", "c", "😀d"]);
        let at =
            |line: u64, character: u64| text.offset(&json!({"line": line, "character": character}), Encoding::Utf16);
        assert_eq!(at(3, 2), Some(text.as_str().len() - 1));
        assert_eq!(at(0, 50), Some(1));
        assert_eq!(at(4, 0), Some(text.as_str().len()));
        assert_eq!(at(5, 0), None);
        assert_eq!(text.offset(&json!({"line": -1, "character": 0}), Encoding::Utf8), None);
        assert_eq!(IndexedText::new(String::new()).lines(), 1);
    }

    #[test]
    fn a_symbol_is_a_whole_word() {
        assert_eq!(word_on("fn footing(foo: Foo)", "foo"), Some(11));
        assert_eq!(word_on("größe = größer", "größer"), Some(8));
        assert_eq!(word_on("a.b()", "b()"), Some(2));
        assert_eq!(word_on("footing", "foo"), None);
        assert_eq!(word_on("x", ""), Some(0));
    }

    #[test]
    fn a_server_that_names_no_encoding_counts_in_utf_16() {
        assert_eq!(Encoding::chosen(&json!({})), Encoding::Utf16);
        assert_eq!(Encoding::chosen(&json!({"positionEncoding": "utf-8"})), Encoding::Utf8);
        assert_eq!(Encoding::chosen(&json!({"offsetEncoding": "utf-32"})), Encoding::Utf32);
    }
}
