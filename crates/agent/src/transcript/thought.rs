//! An agent's thought, folded to its first line. Pure.

/// A thought that arrives in pieces. Only its first line is shown; later non-blank lines are counted.
#[derive(Debug, Default)]
pub(super) struct FoldedThought {
    /// Whether the first line is complete.
    is_folded: bool,
    hidden: usize,
    /// Whether the current line was counted.
    counted: bool,
}

impl FoldedThought {
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

    /// The number of hidden non-blank lines.
    pub(super) fn hidden(&self) -> usize {
        self.hidden
    }
}

/// The number of non-blank lines of a thought.
pub(super) fn words_of(thought: &str) -> usize {
    thought.lines().filter(|line| !line.trim().is_empty()).count()
}
