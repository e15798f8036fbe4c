//! Runs of the goals with the original tests.

use serde::{Deserialize, Serialize};

use super::{GoalResult, GuardedChange, List, Text};

/// A run of the goals with the guarded files restored to their state at the start of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The guarded changes that were reverted.
    pub changes: List<GuardedChange>,
    pub results: Vec<GoalResult>,
    /// Why the trial could not be made; `None` if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Text>,
}
