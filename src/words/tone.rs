//! What kind of news a sentence is.

/// What kind of news a line is; a user interface gives it a colour and a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Start,
    Good,
    Bad,
    Wait,
    User,
    Note,
}
