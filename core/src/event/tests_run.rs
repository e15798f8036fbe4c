//! Tests: what a goal ran of them, what of them changed, and whether they notice anything.

use serde::{Deserialize, Serialize};

use super::{
    AnswerPlace,
    clip::{LIST_CAP, clip, cut},
};

/// Most bytes of a line of source in a record.
const LINE_BYTES: usize = 200;
/// Most bytes of a diff of tests in a record.
const DIFF_BYTES: usize = 32 << 10;

/// The tests that a goal ran, as its runner counted them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TestCounts {
    /// The id of the runner whose output was recognised, such as `cargo`.
    pub runner: String,
    pub passed: u32,
    /// Tests that failed, and those that broke before they could.
    pub failed: u32,
    pub skipped: u32,
    /// Tests that are marked as failing, and failed.
    pub expected_failures: u32,
}

impl TestCounts {
    /// How many tests were run: skipped ones were not.
    pub fn ran(&self) -> u32 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.expected_failures)
    }

    /// How many tests said nothing of the work: they were skipped, or expected to fail.
    pub fn unmeasured(&self) -> u32 {
        self.skipped.saturating_add(self.expected_failures)
    }

    /// Whether tests ran and none failed. Some runners can be told to exit with 0 although tests failed.
    pub fn all_passed(&self) -> bool {
        self.ran() > 0 && self.failed == 0
    }
}

/// A file that decides what the tests come to, and is not as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GuardedChange {
    /// Relative to the project, with `/`.
    pub path: String,
    pub kind: GuardedChangeKind,
    /// The guarded part of the file, such as `mod tests` or `[tool.pytest.ini_options]`; none where all of it is guarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GuardedChangeKind {
    Changed,
    Deleted,
    /// It was not there before, and may stand in the way of what was.
    Added,
}

impl GuardedChange {
    pub(super) fn bounded(self) -> Self {
        GuardedChange {
            path: cut(&self.path),
            part: self.part.as_deref().map(cut),
            ..self
        }
    }
}

/// Changes of tests that an agent made on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TestsChange {
    /// In the agent's words.
    pub why: String,
    pub changes: Vec<GuardedChange>,
    /// As a patch, of 32 KiB at most.
    pub diff: String,
}

/// The authority by which tests count as changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ConfirmedBy {
    /// The user, in answer to the question.
    User {
        #[serde(default)]
        at: AnswerPlace,
        /// The number of the question; none in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<u32>,
    },
    /// The plan, which allows it at a task.
    Plan { task: String },
}

impl Default for ConfirmedBy {
    fn default() -> Self {
        ConfirmedBy::User {
            at: AnswerPlace::CommandLine,
            ask: None,
        }
    }
}

impl TestsChange {
    /// Changes as a record may carry them.
    pub fn bounded(self) -> Self {
        TestsChange {
            why: cut(&self.why),
            changes: bounded_changes(self.changes),
            diff: clip(&self.diff, DIFF_BYTES),
        }
    }
}

impl ConfirmedBy {
    pub(super) fn bounded(self) -> Self {
        match self {
            ConfirmedBy::Plan { task } => ConfirmedBy::Plan { task: cut(&task) },
            ConfirmedBy::User { .. } => self,
        }
    }
}

/// Whether small changes are tried that tests should notice, and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bite {
    #[default]
    Off,
    /// The report says what was noticed; nothing follows from it.
    Report,
    /// A claim is refused if none of at least three altered expectations is noticed.
    Refuse,
    /// A claim is refused if no altered expectation is noticed, or no altered line of the work.
    Require,
}

/// A small change that tests should notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mutant {
    /// Relative to the project, with `/`.
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub before: String,
    pub after: String,
    pub target: MutantTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MutantTarget {
    /// A line that the run changed: tests that cover it fail.
    Work,
    /// An expectation of a test: work that computes its results fails it.
    Test,
}

/// The outcome of the goals with a mutant in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MutantOutcome {
    /// Tests ran and failed.
    Noticed,
    /// All goals passed.
    Missed,
    /// Goals failed without a failing test: it may not have been built.
    NoVerdict,
}

/// A mutant with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TriedMutant {
    #[serde(flatten)]
    pub mutant: Mutant,
    pub outcome: MutantOutcome,
}

impl Mutant {
    pub(super) fn bounded(self) -> Self {
        Mutant {
            path: cut(&self.path),
            before: clip(&self.before, LINE_BYTES),
            after: clip(&self.after, LINE_BYTES),
            ..self
        }
    }
}

impl TriedMutant {
    fn bounded(self) -> Self {
        let mutant = self.mutant.bounded();
        TriedMutant { mutant, ..self }
    }
}

/// Changes as a record may carry them: the first ones.
pub(super) fn bounded_changes(changes: Vec<GuardedChange>) -> Vec<GuardedChange> {
    let first = changes.into_iter().take(LIST_CAP);
    first.map(GuardedChange::bounded).collect()
}

/// Mutants as a record may carry them: the first ones.
pub(super) fn bounded_mutants(mutants: Vec<TriedMutant>) -> Vec<TriedMutant> {
    mutants.into_iter().take(LIST_CAP).map(TriedMutant::bounded).collect()
}
