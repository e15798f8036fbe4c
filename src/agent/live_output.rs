//! What a running tool writes, line by line as it comes. Pure.
//!
//! The end of the tool repeats it as a whole, from which [`LiveOutput::left_of`] takes what was shown.

use super::dialect::{OUTPUT_CAP_BYTES, OUTPUT_CAP_LINES};

#[derive(Debug)]
pub(super) struct LiveOutput {
    call: String,
    /// All of it so far, until it is too much to show.
    text: String,
    /// Bytes and lines of it that were shown: whole lines only.
    shown: usize,
    lines: usize,
}

impl LiveOutput {
    pub(super) fn new(call: &str) -> Self {
        Self {
            call: call.to_owned(),
            text: String::new(),
            shown: 0,
            lines: 0,
        }
    }

    pub(super) fn is_of(&self, call: &str) -> bool {
        self.call == call
    }

    /// Takes a piece, and gives the lines that it completes, as long as they are few enough to be shown.
    pub(super) fn grow(&mut self, piece: &str) -> &str {
        let begin = self.shown;
        if self.lines < OUTPUT_CAP_LINES && self.text.len() + piece.len() <= OUTPUT_CAP_BYTES {
            self.text.push_str(piece);
            let ends = self.text[begin..]
                .match_indices('\n')
                .take(OUTPUT_CAP_LINES - self.lines);
            (self.shown, self.lines) =
                ends.fold((begin, self.lines), |(_, lines), (at, _)| (begin + at + 1, lines + 1));
        }
        &self.text[begin..self.shown]
    }

    /// What of a call's whole output was not shown; all of it if its beginning is not what was shown.
    pub(super) fn left_of<'a>(&self, call: &str, whole: &'a str) -> &'a str {
        let shown = &self.text[..self.shown];
        whole.strip_prefix(shown).filter(|_| self.is_of(call)).unwrap_or(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_when_they_are_whole_and_the_end_gives_the_rest() {
        let mut output = LiveOutput::new("1");
        assert_eq!(output.grow("li"), "");
        assert_eq!(output.grow("ne 1\nline 2\nli"), "line 1\nline 2\n");
        assert_eq!(output.left_of("1", "line 1\nline 2\nline 3"), "line 3");
        assert_eq!(output.left_of("1", "another"), "another");
        assert_eq!(output.left_of("2", "line 1\nline 2\n"), "line 1\nline 2\n");
    }

    #[test]
    fn an_output_without_end_is_shown_up_to_a_bound() {
        let mut output = LiveOutput::new("1");
        let shown: usize = (0..10_000).map(|_| output.grow("x\ny\nz\n").lines().count()).sum();
        assert_eq!(shown, OUTPUT_CAP_LINES);
        assert!(output.text.len() < 1024, "what is not shown is not kept");
        let mut one_line = LiveOutput::new("1");
        assert!((0..10_000).all(|_| one_line.grow("0123456789").is_empty()));
        assert!(one_line.text.len() <= OUTPUT_CAP_BYTES);
    }
}
