//! Line and column in a text that a person wrote, for errors that say where.

use std::fmt;

/// A place in a text, both counted from 1; the column counts characters, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// Finds the place of a byte offset; one past the end, or inside a character, is the nearest place before it.
    ///
    /// Lines end with LF, CR LF or a lone CR.
    pub fn of(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut place = Position { line: 1, column: 1 };
        let mut characters = text[..end].chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied().or_else(|| text[end..].chars().next());
            if character == '\n' || (character == '\r' && next != Some('\n')) {
                place.line = place.line.saturating_add(1);
                place.column = 1;
            } else {
                place.column = place.column.saturating_add(1);
            }
        }
        place
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Finds the lines of offsets that only grow, so that many of them cost one pass over the text.
#[derive(Debug, Clone)]
pub struct LineCursor<'a> {
    text: &'a [u8],
    offset: usize,
    line: u32,
}

impl<'a> LineCursor<'a> {
    pub fn new(text: &'a str) -> Self {
        LineCursor {
            text: text.as_bytes(),
            offset: 0,
            line: 1,
        }
    }

    /// Returns the line of a byte offset, from 1; for an offset before the last one, the line of that.
    pub fn line_of(&mut self, offset: usize) -> u32 {
        for at in self.offset..offset.min(self.text.len()) {
            let ends_line = match self.text[at] {
                b'\n' => true,
                b'\r' => self.text.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            self.line = self.line.saturating_add(u32::from(ends_line));
        }
        self.offset = self.offset.max(offset);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (u32, u32) {
        let Position { line, column } = Position::of(text, offset);
        (line, column)
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        assert_eq!(at("ab\ncd", 0), (1, 1));
        assert_eq!(at("ab\ncd", 4), (2, 2));
    }

    #[test]
    fn a_column_is_a_character_not_a_byte() {
        assert_eq!(at("äöü!", 6), (1, 4));
        assert_eq!(at("äöü!", 1), (1, 1));
    }

    #[test]
    fn every_line_ending_ends_one_line() {
        assert_eq!(at("a\r\nb", 3), (2, 1));
        assert_eq!(at("a\rb", 2), (2, 1));
        assert_eq!(at("a\r\n", 2), (1, 3));
    }

    #[test]
    fn a_cursor_agrees_with_the_position() {
        let text = "a\nb\r\n\rc\n\nä";
        let mut cursor = LineCursor::new(text);
        for (offset, _) in text.char_indices() {
            assert_eq!(cursor.line_of(offset), Position::of(text, offset).line, "at {offset}");
        }
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        assert_eq!(at("ab", 99), (1, 3));
    }
}
