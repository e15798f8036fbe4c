//! The tone of a message.

use serde::Serialize;

/// The tone of a line, shown by a user interface as a colour and a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    Start,
    Good,
    Bad,
    /// A condition that is no failure but that the user should know.
    Warning,
    Wait,
    User,
    Note,
}
