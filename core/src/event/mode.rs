//! The kinds of work that a run does.

use serde::{Deserialize, Serialize};

/// The kind of work that a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Something new, built from requirements.
    Implementation,
    /// A restructuring that keeps the behaviour.
    Refactor,
    /// A correction of behaviour.
    Fix,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Implementation, Mode::Refactor, Mode::Fix];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Implementation => "implementation",
            Mode::Refactor => "refactor",
            Mode::Fix => "fix",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_the_same_name_on_the_command_line_and_in_files() {
        for mode in Mode::ALL {
            assert_eq!(serde_json::json!(mode), mode.name());
        }
    }
}
