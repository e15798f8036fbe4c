//! Test results of goals, changes to tests, and mutants.

use serde::{Deserialize, Serialize};

use super::{AnswerPlace, List, Text};
use crate::json::ReadJson;

/// Maximum size of a source line in a record, in bytes.
const LINE_BYTES: usize = 200;
/// Maximum size of a diff of tests in a record, in bytes.
const DIFF_BYTES: usize = 32 << 10;

/// Counts of the tests that a goal ran, as reported by its runner.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestCounts {
    /// The id of the recognised test runner, such as `cargo`.
    pub runner: String,
    pub passed: u32,
    /// Tests that failed, including those with an error in their setup.
    pub failed: u32,
    pub skipped: u32,
    /// Tests that are marked as expected to fail, and did.
    pub expected_failures: u32,
}

impl TestCounts {
    /// Number of tests that ran. Skipped tests did not.
    pub fn ran(&self) -> u32 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.expected_failures)
    }

    /// Number of tests without evidence: skipped or expected to fail.
    pub fn unmeasured(&self) -> u32 {
        self.skipped.saturating_add(self.expected_failures)
    }

    /// Whether tests ran and none failed. Some runners can be configured to exit with 0 despite failures.
    pub fn all_passed(&self) -> bool {
        self.ran() > 0 && self.failed == 0
    }
}

/// A file that affects the test results and changed since the run began.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardedChange {
    /// Relative to the project, separated by `/`.
    pub path: Text,
    pub kind: GuardedChangeKind,
    /// The guarded part of the file, such as `mod tests` or `[tool.pytest.ini_options]`; `None` for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardedChangeKind {
    Changed,
    Deleted,
    /// A new file, which may shadow an existing one.
    Added,
}

/// Changes to tests that an agent made on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestsChange {
    /// The agent's reason.
    pub why: Text,
    pub changes: List<GuardedChange>,
    /// The diff, at most 32 KiB.
    pub diff: Text<DIFF_BYTES>,
    /// Whether the diff is truncated.
    pub cut: bool,
}

/// The authority for accepting changed tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ConfirmedBy {
    /// The user's answer to the question.
    User {
        at: AnswerPlace,
        /// The number of the question.
        ask: u32,
    },
    /// The plan, which permits it for the task.
    Plan { task: Text },
}

impl TestsChange {
    pub fn new(why: impl Into<Text>, changes: Vec<GuardedChange>, diff: String) -> Self {
        TestsChange {
            why: why.into(),
            changes: changes.into(),
            cut: diff.len() > DIFF_BYTES,
            diff: diff.into(),
        }
    }
}

/// Whether mutants are tried, and the consequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bite {
    #[default]
    Off,
    /// The result is reported without consequences.
    Report,
    /// A claim is refused if two altered expectations in tests of the work are not detected, if none of at least three
    /// in other tests is, or if tests fail once a comment is added to them.
    Refuse,
    /// A claim is refused if no altered expectation or no altered line of the work is detected.
    Require,
}

/// Whether goals run in a copy of the project that no agent has been in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoomUse {
    /// They do where that is possible.
    #[default]
    Auto,
    /// A run where that is not possible stops at its start.
    Required,
    /// They run in the project's directory.
    Off,
}

/// The result of a goal whose failing tests already failed before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownFailures {
    /// It fails.
    #[default]
    Block,
    /// It passes.
    Forgive,
}

/// A small mutation that tests should detect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutant {
    /// Relative to the project, separated by `/`.
    pub path: Text,
    /// Line number, from 1.
    pub line: u32,
    /// The original line; for the target `whole`, the paths of the changed files.
    pub before: Text<LINE_BYTES>,
    /// The altered line; for the target `whole`, empty.
    pub after: Text<LINE_BYTES>,
    pub target: MutantTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MutantTarget {
    /// A line that the run changed. Tests that cover it fail.
    Work,
    /// An expectation in a test. Code that computes its results fails it.
    Test,
    /// An expectation in a test of the work: it failed when the run began, or did not exist.
    WorkTest,
    /// A comment at the end of a file with tests, which changes nothing: no test may detect it.
    Comment,
    /// The whole work of the run except its tests, taken out. The path is that of the first file.
    Whole,
}

/// The result of the goals with a mutant applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MutantOutcome {
    /// Tests ran and failed.
    Noticed,
    /// All goals passed.
    Missed,
    /// Goals failed without a failing test; the mutant may not have compiled.
    NoVerdict,
}

/// A mutant and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriedMutant {
    #[serde(flatten)]
    pub mutant: Mutant,
    pub outcome: MutantOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_have_passed_if_some_ran_and_none_failed() {
        for (passed, failed, skipped, all_passed) in
            [(3, 0, 1, true), (3, 1, 0, false), (0, 0, 3, false), (0, 0, 0, false)]
        {
            let counts = TestCounts {
                passed,
                failed,
                skipped,
                ..TestCounts::default()
            };
            assert_eq!(counts.all_passed(), all_passed, "{counts:?}");
        }
    }

    #[test]
    fn a_diff_of_32_kib_is_whole_and_a_longer_one_is_cut() {
        let change = |bytes| TestsChange::new("The old name is gone.", Vec::new(), "x".repeat(bytes));
        let whole = change(32_768);
        assert_eq!((whole.diff.len(), whole.cut), (32_768, false));
        let longer = change(32_769);
        assert!(longer.cut && longer.diff.len() <= 32_768);
    }
}
