//! Copyable parts of a terminal.

/// A part of a terminal to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyPortion {
    Line,
    Block,
    Message,
    Shown,
    All,
}

/// The parts with their keys and descriptions.
pub const PORTIONS: [(&str, CopyPortion, &str); 5] = [
    ("l", CopyPortion::Line, "the line of the match, or the last visible one"),
    ("b", CopyPortion::Block, "the last code block"),
    ("m", CopyPortion::Message, "the agent's last message"),
    ("s", CopyPortion::Shown, "the visible text"),
    ("a", CopyPortion::All, "everything"),
];
