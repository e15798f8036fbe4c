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
    ('l', Portion::Line, "the line of the match, or the last one in view"),
    ('b', Portion::Block, "the last code block"),
    ('m', Portion::Message, "the agent's last message"),
    ('s', Portion::Shown, "what is shown"),
    ('a', Portion::All, "all of it"),
];
