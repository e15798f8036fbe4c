//! Goals: checks that ralph itself runs before it accepts that the work is done.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ExceededCeiling, Exit, List, Tail, TestCounts, Text};
use crate::json::ReadJson;

/// A command and its expected result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    pub name: String,
    /// Run by `sh -c` in the project, or in its `workspace`.
    pub command: String,
    /// Minimum for the last number of the output; `None` if only the exit code counts.
    pub target: Option<f64>,
    pub timeout_ms: u64,
    /// Whether the goal is also run after edits, while the agent works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_edit: bool,
    /// The directory in which the command runs, relative to the project; `None` for the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The test report (JUnit XML or TAP) that the goal's runner writes, as a relative path; `None` if the output has
    /// the counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The user's description of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A directory that agents can neither read nor write. The goal runs in a copy of the project with these files laid
    /// over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<PathBuf>,
    /// The task whose tick counts once the goal has passed; `None` for a goal of the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// When goals are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GoalsWhen {
    /// When the agent claims to be done and the plan does not contradict it.
    #[default]
    Claim,
    /// For a claim, and in the room on the files that each iteration left, while the run goes on.
    Background,
    /// After every iteration; a claim is judged by the same results.
    Iteration,
}

/// The result of a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalResult {
    pub name: String,
    pub passed: bool,
    pub exit: Option<Exit>,
    /// The last number of the output, if the goal has a target.
    pub score: Option<f64>,
    pub target: Option<f64>,
    pub duration_ms: u64,
    /// Why the goal failed; `None` if it passed.
    pub why: Option<GoalFailure>,
    /// The end of the output. For a sealed goal that failed, the number of its tests that passed.
    pub tail: Tail<TAIL_BYTES>,
    /// Counts of the tests that ran; `None` if no test runner was recognised in the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Why the output of the test runner cannot be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Text>,
    /// The names of failed tests, if the runner prints them: the first hundred.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub failed_tests: TestNames,
    /// The names of tests that are skipped now although they run with the original tests, if the runner prints them.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub newly_skipped: TestNames,
    /// Set if runs on the same files had different results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<Flaky>,
    /// The file with the output of a sealed goal, unreadable to agents; `None` for other goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_output: Option<PathBuf>,
}

impl GoalResult {
    /// Whether it passed with failing tests because they already failed before the run.
    pub fn is_forgiven(&self) -> bool {
        self.passed && self.exit.is_some_and(|exit| !exit.success())
    }
}

/// Runs of a goal on the same files with different results.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Flaky {
    pub runs: u32,
    pub failures: u32,
    /// The names of tests that both failed and passed, if the runner prints them.
    pub tests: TestNames,
}

/// Maximum size of the output tail of a goal, in bytes.
const TAIL_BYTES: usize = 8 * 1024;
/// Maximum size of a test name, in bytes.
const NAME_BYTES: usize = 200;

/// The names of tests, as far as a record has room for them.
pub type TestNames = List<Text<NAME_BYTES>>;

/// Why a goal did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum GoalFailure {
    Exited {
        exit: Exit,
    },
    TimedOut {
        after_ms: u64,
    },
    /// Its processes used more than they may.
    Exceeded {
        exceeded: ExceededCeiling,
    },
    /// The goal was killed; its own result is unknown.
    Killed,
    /// The goal has a target, but its output has no number.
    NoNumber,
    BelowTarget {
        score: f64,
        target: f64,
    },
    NotStarted {
        why: Text,
    },
}

// A score is read from digits, and a target from JSON: neither is ever NaN.
impl Eq for GoalFailure {}

#[cfg(test)]
mod tests {
    use crate::{
        event::{Event, GateEvent},
        testing::goal_checked,
    };

    #[test]
    fn the_last_8_kib_of_the_output_are_kept() {
        let tail = |output: &str| {
            let Event::Gate(GateEvent::GoalChecked { result, .. }) = goal_checked(1, "tests", 1, output) else {
                unreachable!("it is checked")
            };
            result.tail
        };
        assert_eq!(tail(&"x".repeat(8_192)).len(), 8_192);
        let long = tail(&("x".repeat(8_192) + "1 failed"));
        assert!(long.len() <= 8_192 && long.ends_with("x1 failed"));
    }
}
