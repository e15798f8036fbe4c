//! Copyable parts of a terminal.

/// A part of a terminal to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Portion {
    Line,
    Block,
    Message,
    Shown,
    All,
}

/// The parts with their keys and descriptions.
pub(crate) const PORTIONS: [(char, Portion, &str); 5] = [
    ('l', Portion::Line, "the line of the match, or the last visible one"),
    ('b', Portion::Block, "the last code block"),
    ('m', Portion::Message, "the agent's last message"),
    ('s', Portion::Shown, "the visible text"),
    ('a', Portion::All, "everything"),
];
