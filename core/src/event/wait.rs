//! What a loop waits for.

use serde::{Deserialize, Serialize};

use super::{BreakerCause, LimitKind, Problem, clip::cut};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    Backoff,
    LimitReset,
    /// `callsPerHour` is used up.
    CallBudget,
    /// `limits.perDay` is used up.
    DayBudget,
    /// The breaker is open; one more try follows.
    Cooldown,
}

/// What a wait was begun for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WaitCause {
    /// The agent failed.
    Failure { problem: Problem },
    /// The calls of the hour are used up.
    CallsUsedUp,
    /// This limit of the day is used up.
    DayUsedUp { limit: LimitKind },
    /// The breaker is open.
    Breaker { why: BreakerCause },
    /// The wait was begun before ralph was restarted, and goes on.
    BegunBefore,
    /// A clause of a journal of version 1.
    Text { text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    Elapsed,
    RetriedNow,
    Stopped,
}

impl WaitCause {
    pub(super) fn bounded(self) -> Self {
        match self {
            WaitCause::Failure { problem } => WaitCause::Failure {
                problem: problem.bounded(),
            },
            WaitCause::Breaker { why } => WaitCause::Breaker { why: why.bounded() },
            WaitCause::Text { text } => WaitCause::Text { text: cut(&text) },
            WaitCause::CallsUsedUp | WaitCause::DayUsedUp { .. } | WaitCause::BegunBefore => self,
        }
    }
}
