//! What an agent thinks, folded to its first line. Pure.

/// A thought of which pieces come. Only its first line is shown; the lines below it are counted, as far as they have words.
#[derive(Debug, Default)]
pub(super) struct Thought {
    /// The first line is complete.
    is_folded: bool,
    hidden: usize,
    /// The line that comes has words.
    counted: bool,
}

impl Thought {
    /// The part of `piece` that is shown.
    pub(super) fn shown<'a>(&mut self, piece: &'a str) -> &'a str {
        let (shown, rest) = match (self.is_folded, piece.split_once('\n')) {
            (true, _) => ("", piece),
            (false, None) => return piece,
            (false, Some((shown, rest))) => (shown, rest),
        };
        self.is_folded = true;
        for (at, line) in rest.split('\n').enumerate() {
            self.counted &= at == 0;
            if !self.counted && !line.trim().is_empty() {
                self.hidden += 1;
                self.counted = true;
            }
        }
        shown
    }

    /// How many lines with words are not shown.
    pub(super) fn hidden(&self) -> usize {
        self.hidden
    }
}

/// How many lines with words a thought has.
pub(super) fn words_of(thought: &str) -> usize {
    thought.lines().filter(|line| !line.trim().is_empty()).count()
}
