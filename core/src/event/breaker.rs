//! The breaker's positions, and what moves it.

use serde::{Deserialize, Serialize};

use super::{GoalFailure, clip::cut};

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

/// Why the breaker moves, or stands where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BreakerCause {
    /// So many consecutive iterations changed nothing.
    NoProgress {
        iterations: u32,
    },
    /// So many consecutive iterations failed in the same way.
    SameError {
        iterations: u32,
    },
    /// So many claims in a row were refused because this goal failed, each time with the same output.
    SameGoalFailure {
        goal: String,
        /// The reason is missing where the goal failed without saying how.
        why: Option<GoalFailure>,
        iterations: u32,
    },
    /// There was progress.
    Progress,
    /// The cooldown is over.
    OneMoreTry,
    ResetByUser,
    /// A clause of a journal of version 1.
    Text {
        text: String,
    },
}

impl BreakerCause {
    pub(super) fn bounded(self) -> Self {
        match self {
            BreakerCause::SameGoalFailure { goal, why, iterations } => BreakerCause::SameGoalFailure {
                goal: cut(&goal),
                why: why.map(GoalFailure::bounded),
                iterations,
            },
            BreakerCause::Text { text } => BreakerCause::Text { text: cut(&text) },
            BreakerCause::NoProgress { .. }
            | BreakerCause::SameError { .. }
            | BreakerCause::Progress
            | BreakerCause::OneMoreTry
            | BreakerCause::ResetByUser => self,
        }
    }
}
