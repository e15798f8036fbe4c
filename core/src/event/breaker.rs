//! The states of the circuit breaker and the causes of its transitions.

use serde::{Deserialize, Serialize};

use super::{GoalFailure, Text};
use crate::json::ReadJson;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    #[default]
    Closed,
    /// The next prompts carry the diagnosis.
    HalfOpen,
    Open,
}

/// Why the breaker changes or keeps its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BreakerCause {
    /// This many consecutive iterations changed nothing.
    NoProgress {
        iterations: u32,
    },
    /// This many consecutive iterations failed in the same way.
    SameError {
        iterations: u32,
    },
    /// This many consecutive claims were refused because the goal failed with the same output.
    SameGoalFailure {
        goal: Text,
        /// `None` if the goal failed without a known reason.
        why: Option<GoalFailure>,
        iterations: u32,
    },
    /// An iteration made progress.
    Progress,
    /// The cooldown is over.
    OneMoreTry,
    ResetByUser,
}
