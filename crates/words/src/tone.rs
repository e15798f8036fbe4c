//! What kind of news a sentence is.

use serde::Serialize;

/// What kind of news a line is; a user interface gives it a colour and a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    Start,
    Good,
    Bad,
    /// Nothing failed, and it should be known.
    Warning,
    Wait,
    User,
    Note,
}
