//! Goals: what ralph checks itself before it believes that the work is done.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Exit, TestCounts,
    clip::{LIST_CAP, clip, clip_start, cut},
};

/// A command with what it has to come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    pub name: String,
    /// Run by `sh -c` in the project, or in its `workspace`.
    pub command: String,
    /// The last number it prints has to be at least this; none where the exit code alone counts.
    pub target: Option<f64>,
    pub timeout_ms: u64,
    /// It is also run after edits, while the agent works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_edit: bool,
    /// The directory of the project in which it runs, as a relative path; none is the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The file in which its runner reports the tests that ran, JUnit XML or TAP, as a relative path; none where its output tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The user's words for what the goal checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A directory that agents can neither read nor write. Its files are laid over a copy of the project, in which the goal runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<PathBuf>,
}

/// When goals are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GoalsWhen {
    /// When the agent claims to be done and the plan does not contradict it.
    #[default]
    Claim,
    /// After every iteration; a claim goes by the same results.
    Iteration,
}

/// What a goal came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GoalResult {
    pub name: String,
    pub passed: bool,
    pub exit: Option<Exit>,
    /// The last number it printed, where a target wants one.
    pub score: Option<f64>,
    pub target: Option<f64>,
    pub duration_ms: u64,
    /// Why it did not pass; none if it did.
    pub why: Option<GoalFailure>,
    /// The end of the output; for a sealed goal that did not pass, the number of its tests that did.
    pub tail: String,
    /// The tests that it ran; none where no runner was recognised in what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Why what its runner printed cannot be believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The names of tests that failed, where its runner prints them: the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// Set where runs on the same files came to different ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<Flaky>,
    /// The file with the output of a sealed goal, which agents cannot read; none for other goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_output: Option<PathBuf>,
}

/// Runs of a goal on the same files that came to different ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Flaky {
    pub runs: u32,
    pub failures: u32,
    /// The names of tests that failed in one of them and passed in another, where its runner prints them.
    pub tests: Vec<String>,
}

/// Most bytes of what a goal printed last.
const TAIL_BYTES: usize = 8 * 1024;
/// Most bytes of the name of a test in a record.
const NAME_BYTES: usize = 200;

impl GoalResult {
    pub(super) fn bounded(self) -> Self {
        GoalResult {
            why: self.why.map(GoalFailure::bounded),
            doubt: self.doubt.as_deref().map(cut),
            tail: clip_start(&self.tail, TAIL_BYTES),
            failed_tests: names(self.failed_tests),
            flaky: self.flaky.map(|flaky| Flaky {
                tests: names(flaky.tests),
                ..flaky
            }),
            ..self
        }
    }
}

/// Names of tests as a record may carry them: the first ones.
fn names(names: Vec<String>) -> Vec<String> {
    names.iter().take(LIST_CAP).map(|name| clip(name, NAME_BYTES)).collect()
}

/// Why a goal did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum GoalFailure {
    Exited {
        exit: Exit,
    },
    TimedOut {
        after_ms: u64,
    },
    /// It was killed, and nobody knows how it would have ended.
    Killed,
    /// There is a target, and it printed no number.
    NoNumber,
    BelowTarget {
        score: f64,
        target: f64,
    },
    NotStarted {
        why: String,
    },
    /// A clause of a journal of version 1.
    Text {
        text: String,
    },
}

// A score is read from digits, and a target from JSON: neither is ever NaN.
impl Eq for GoalFailure {}

impl GoalFailure {
    pub(super) fn bounded(self) -> Self {
        match self {
            GoalFailure::NotStarted { why } => GoalFailure::NotStarted { why: cut(&why) },
            GoalFailure::Text { text } => GoalFailure::Text { text: cut(&text) },
            GoalFailure::Exited { .. }
            | GoalFailure::TimedOut { .. }
            | GoalFailure::Killed
            | GoalFailure::NoNumber
            | GoalFailure::BelowTarget { .. } => self,
        }
    }
}
