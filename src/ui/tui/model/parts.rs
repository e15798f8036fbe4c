//! What of a terminal can be copied.

/// What of a terminal is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Portion {
    Line,
    Block,
    Message,
    Shown,
    All,
}

/// With the key for each, and in words.
pub(crate) const PORTIONS: [(char, Portion, &str); 5] = [
    ('l', Portion::Line, "the line of the match, or the last one in view"),
    ('b', Portion::Block, "the last code block"),
    ('m', Portion::Message, "the agent's last message"),
    ('s', Portion::Shown, "what is shown"),
    ('a', Portion::All, "all of it"),
];
