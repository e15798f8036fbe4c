//! Line and column in a text written by a user, for error messages.

use std::fmt;

/// A position in a text, both counted from 1; the column counts characters, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// Finds the position of a byte offset. An offset past the end or inside a character is moved back to the nearest
    /// boundary.
    ///
    /// Lines end with LF, CR LF or a lone CR.
    pub fn at_offset(text: &str, offset: usize) -> Self {
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

/// The line starts of a text, to look up many positions.
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends_line = |at: usize| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let mut starts = vec![0];
        starts.extend((0..bytes.len()).filter(|&at| ends_line(at)).map(|at| at + 1));
        LineIndex { starts }
    }

    /// Returns the byte offset of a line's start. Lines count from 1; a line past the last one has the last one's
    /// start.
    pub fn start_of(&self, line: u32) -> usize {
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.starts[at.min(self.starts.len() - 1)]
    }

    /// Returns the position of a byte offset of `text`, which must be the text of these lines. Does not scan earlier
    /// lines.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let line = self.line_of(offset);
        let in_line = text.get(self.start_of(line)..).unwrap_or_default();
        let column = Position::at_offset(in_line, offset.saturating_sub(self.start_of(line))).column;
        Position { line, column }
    }

    /// Returns the line of a byte offset, counted from 1.
    pub fn line_of(&self, offset: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|&start| start <= offset)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (u32, u32) {
        let Position { line, column } = Position::at_offset(text, offset);
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
    fn lines_agree_with_positions() {
        let text = "a\nb\r\n\rc\n\nä";
        let lines = LineIndex::new(text);
        for (offset, _) in text.char_indices() {
            assert_eq!(
                lines.line_of(offset),
                Position::at_offset(text, offset).line,
                "at {offset}"
            );
            assert_eq!(
                lines.position(text, offset),
                Position::at_offset(text, offset),
                "at {offset}"
            );
        }
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        assert_eq!(at("ab", 99), (1, 3));
    }
}
