//! What an iteration is for: how it ended, how it is bounded and what it is called depend on that.

use serde::{Deserialize, Serialize};

/// What an iteration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Role {
    /// The agent works on the plan.
    #[default]
    Work,
    /// The agent looks at what others changed, and changes nothing.
    Review {
        /// Counts the reviews of the same work, from 1.
        round: u32,
    },
}

impl Role {
    pub fn is_work(&self) -> bool {
        match self {
            Role::Work => true,
            Role::Review { .. } => false,
        }
    }
}
