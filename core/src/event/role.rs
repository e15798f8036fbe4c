//! The purpose of an iteration, which determines its bounds, its name and how its end is handled.

use serde::Serialize;

use crate::json::ReadJson;

/// The purpose of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Role {
    /// The agent works on the plan.
    #[default]
    Work,
    /// The agent examines changes by others and changes nothing itself.
    Review {
        /// Number of the review of the same work, from 1.
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
