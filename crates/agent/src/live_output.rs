//! The output of a running tool, line by line as it arrives. Pure.
//!
//! The end of the tool repeats the whole output; [`LiveOutput::unshown_in`] returns the parts that were not shown yet.

use super::dialect::{OUTPUT_CAP_BYTES, OUTPUT_CAP_LINES};

#[derive(Debug)]
pub(super) struct LiveOutput {
    call: String,
    /// The output so far; it stops growing once it is too long to be shown.
    text: String,
    /// The number of bytes and lines that were shown: whole lines only.
    shown: usize,
    lines: usize,
}

/// The parts of an output that were not shown, before and after the shown part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnshownParts<'a> {
    /// Whole lines that never arrived as pieces: codex leaves out the first output of a command.
    pub(super) before: &'a str,
    pub(super) after: &'a str,
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

    pub(super) fn belongs_to(&self, call: &str) -> bool {
        self.call == call
    }

    /// Appends a piece and returns the lines that it completes, up to the limit of shown lines.
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

    /// Compares the whole output of a call with the shown part; `None` if the shown part does not occur in it.
    pub(super) fn unshown_in<'a>(&self, call: &str, whole: &'a str) -> Option<UnshownParts<'a>> {
        if !self.belongs_to(call) {
            return None;
        }
        // Agents may strip the final newline from the whole output.
        let Some(shown) = self.text[..self.shown].strip_suffix('\n') else {
            let (before, after) = ("", whole);
            return Some(UnshownParts { before, after });
        };
        let places = whole.match_indices(shown).map(|(at, _)| at);
        places
            .map(|at| (at, &whole[at + shown.len()..]))
            .find_map(|(at, rest)| {
                let after = if rest.is_empty() {
                    rest
                } else {
                    rest.strip_prefix('\n')?
                };
                // The beginning of the first shown line may be missing.
                let cut = !matches!(whole[..at].bytes().next_back(), None | Some(b'\n'));
                let end = if cut {
                    whole[at..].find('\n').map_or(whole.len(), |end| at + end)
                } else {
                    at
                };
                let before = &whole[..end];
                Some(UnshownParts { before, after })
            })
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
        let left = |before, after| Some(UnshownParts { before, after });
        assert_eq!(output.unshown_in("1", "line 1\nline 2\nline 3"), left("", "line 3"));
        assert_eq!(output.unshown_in("1", "line 1\nline 2\n"), left("", ""));
        assert_eq!(output.unshown_in("1", "line 1\nline 2"), left("", ""));
        assert_eq!(output.unshown_in("1", "line 1\nline 25\n"), None);
        assert_eq!(output.unshown_in("1", "line 0\nline 1\nline 2\n"), left("line 0\n", ""));
        assert_eq!(
            output.unshown_in("1", "a\nin line 1\nline 2\nb"),
            left("a\nin line 1", "b")
        );
        assert_eq!(output.unshown_in("1", "another"), None);
        assert_eq!(output.unshown_in("2", "line 1\nline 2\n"), None);
        assert_eq!(LiveOutput::new("1").unshown_in("1", "x"), left("", "x"));
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
