//! The states of the circuit breaker and the causes of its transitions.

use serde::{Deserialize, Serialize};

use super::{GoalFailure, List, Missing, Text};
use crate::json::ReadJson;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    #[default]
    Closed,
    /// The next prompts carry the diagnosis.
    HalfOpen,
    Open,
}

/// Why the breaker changes or keeps its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
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
        /// Since when the goal fails.
        #[serde(default, skip_serializing_if = "GoalSince::is_unknown")]
        since: GoalSince,
    },
    /// Claims were refused, and nothing that changed since has lifted the refusal.
    ClaimRefused {
        reason: Box<Missing>,
        /// The changed tests that the reason is about.
        files: List<Text>,
        /// The iteration that changed them, where only one can have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
        /// The number of claims that were refused for this reason in a row.
        times: u32,
    },
    /// An iteration made progress.
    Progress,
    /// The cooldown is over.
    OneMoreTry,
    ResetByUser,
}

/// Since when a goal fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum GoalSince {
    #[default]
    Unknown,
    /// It has not passed in this run.
    Always,
    Broken {
        by: Suspects,
    },
}

/// The iterations of which one broke a goal: one alone, if it is known which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct Suspects {
    pub first: u32,
    /// With its files the goal is known to fail.
    pub last: u32,
}

impl Suspects {
    /// The iteration that broke the goal, if it is known.
    pub fn alone(&self) -> Option<u32> {
        (self.first == self.last).then_some(self.last)
    }
}

impl GoalSince {
    fn is_unknown(&self) -> bool {
        *self == GoalSince::Unknown
    }
}
