//! What kind of work a run does.

use serde::{Deserialize, Serialize};

/// The kind of work that a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Something new, out of requirements.
    Implementation,
    /// Another form of what is there, which does the same.
    Refactor,
    /// What is there does not do what it should.
    Fix,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Implementation, Mode::Refactor, Mode::Fix];

    /// The name under which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Implementation => "implementation",
            Mode::Refactor => "refactor",
            Mode::Fix => "fix",
        }
    }
}
