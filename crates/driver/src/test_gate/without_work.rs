//! The goals without the work: the tests that came with it should fail then.
//!
//! The present tests run, since new tests are what measures the work. Only a failing test with a name counts: a test file
//! that cannot be loaded without the work says nothing about its tests.

use std::{
    collections::{BTreeMap, HashSet},
    ops::RangeInclusive,
    path::PathBuf,
    sync::Arc,
};

use ralph_core::event::{Goal, Mutant, MutantOutcome, MutantTarget, TriedMutant};
use ralph_gate::guard::{FileContent, GuardError, OpenTrial, Originals};
use ralph_text::with_causes;
use tracing::debug;

use super::{
    super::goals::{CheckedGoal, ExecutionContext, check_all},
    altered::ran,
    in_place::{InPlace, blocking},
};

/// Python's unittest reports a test file that cannot be loaded as a failing test of this class.
const NOT_LOADED: &str = "unittest.loader._FailedTest";

/// Lines of files, numbered from 1.
pub(crate) type ChangedLines = Vec<(String, Vec<RangeInclusive<u32>>)>;

/// The changes that a run has made so far.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Added and changed lines.
    pub(crate) lines: ChangedLines,
    /// Whether `before` has all changed files.
    pub(crate) is_known: bool,
    /// Suppressions in the lines, with their number.
    pub(crate) suppressions: BTreeMap<&'static str, u32>,
    /// The changed files, as they were when the run began.
    pub(crate) before: Vec<(String, FileContent)>,
}

/// The tests of a goal with the work in place.
pub(super) struct WithWork {
    ran: u32,
    /// The names of passed tests; empty if the runner prints no names.
    passed: HashSet<String>,
    /// The names of tests that failed nevertheless.
    failed: Vec<String>,
}

impl WithWork {
    pub(super) fn from_checked(checked: &CheckedGoal) -> Self {
        let report = checked.report.as_ref();
        Self {
            ran: ran(checked),
            passed: report.map_or_else(HashSet::new, |report| report.passed.iter().cloned().collect()),
            failed: report.map_or_else(Vec::new, |report| report.failed.clone()),
        }
    }

    /// Whether a named test fails `without` the work and passes with it.
    fn is_noticed_in(&self, without: &CheckedGoal) -> bool {
        let mut failed = without.report.iter().flat_map(|report| &report.failed);
        failed.any(|name| self.has_mended(name))
    }

    /// Whether a test that fails without the work passes with it.
    fn has_mended(&self, name: &String) -> bool {
        let is_known = !name.contains(NOT_LOADED) && !self.failed.contains(name);
        is_known && (self.passed.is_empty() || self.passed.contains(name))
    }
}

fn outcome(with: &[WithWork], without: &[CheckedGoal]) -> MutantOutcome {
    let pairs = || with.iter().zip(without);
    if pairs().any(|(with, without)| with.is_noticed_in(without)) {
        return MutantOutcome::Noticed;
    }
    // Tests in a new file of the work are taken out with it.
    match pairs().all(|(with, without)| without.result.passed && ran(without) >= with.ran) {
        true => MutantOutcome::Missed,
        false => MutantOutcome::NoVerdict,
    }
}

/// The goals that are run without the work.
pub(super) struct WithoutWork {
    pub(super) goals: Vec<Goal>,
    /// The same with only the tests that the run has changed or added; without goals if there are none.
    pub(super) of_changed: Option<Vec<Goal>>,
    /// The tests that failed before the run; `None` if that is unknown. It tells of the unchanged tests.
    pub(super) failed_before: Option<Vec<String>>,
}

impl WithoutWork {
    /// Whether no more than the changed tests have to run.
    pub(super) fn is_narrow(&self) -> bool {
        self.of_changed.is_some() && self.failed_before.is_some()
    }

    /// Whether there are no changed tests.
    pub(super) fn runs_nothing(&self) -> bool {
        self.of_changed.as_ref().is_some_and(Vec::is_empty)
    }

    async fn run(self, with: &[WithWork], parallel: bool, place: Arc<ExecutionContext>) -> MutantOutcome {
        let (Some(goals), Some(failed)) = (self.of_changed, self.failed_before) else {
            return outcome(with, &check_all(self.goals, parallel, place).await);
        };
        if failed.iter().any(|name| with.iter().any(|with| with.has_mended(name))) {
            return MutantOutcome::Noticed;
        }
        let changed = check_all(goals, parallel, place).await;
        let is_missed = |checked: &CheckedGoal| checked.result.passed && ran(checked) > 0;
        // The other tests do what they did at the start.
        match outcome(with, &changed) {
            MutantOutcome::Noticed => MutantOutcome::Noticed,
            _ if failed.is_empty() && changed.iter().all(is_missed) => MutantOutcome::Missed,
            MutantOutcome::Missed | MutantOutcome::NoVerdict => MutantOutcome::NoVerdict,
        }
    }
}

/// Runs goals without the work and compares with the tests `with` it. Returns `None` if the work is only tests.
///
/// # Errors
/// [`GuardError`] if the agent's files cannot be restored.
pub(super) async fn tried(
    record: PathBuf,
    originals: Arc<Originals>,
    before: Arc<Vec<(String, FileContent)>>,
    goals: WithoutWork,
    with: &[WithWork],
    parallel: bool,
    place: Arc<ExecutionContext>,
) -> Result<Option<TriedMutant>, GuardError> {
    let begun = {
        let (project, record) = (place.files(), record.clone());
        blocking(move || {
            let files = originals.without_work(&project, Arc::unwrap_or_clone(before))?;
            let Some((first, _)) = files.first() else {
                return Ok(None);
            };
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            let mutant = Mutant {
                path: first.clone().into(),
                line: 1,
                before: paths.join(", ").into(),
                after: "".into(),
                target: MutantTarget::Whole,
            };
            Ok(Some((
                InPlace::of(OpenTrial::replacing(files, &project, &record)?),
                mutant,
            )))
        })
    };
    let (in_place, mutant) = match begun.await {
        Ok(Some(begun)) => begun,
        Ok(None) => return Ok(None),
        Err(error) => {
            debug!(error = with_causes(&error), "the work could not be taken out");
            let recovered = blocking(move || OpenTrial::recover(&record, &place.files()));
            return recovered.await.map(|_| None);
        }
    };
    let outcome = match in_place.refused() {
        Some(_) => MutantOutcome::NoVerdict,
        None => goals.run(with, parallel, place).await,
    };
    in_place.end().await?;
    Ok(Some(TriedMutant { mutant, outcome }))
}

/// The lines that a patch adds, in files that it does not delete.
pub(in super::super) fn added_lines(patch: &str) -> ChangedLines {
    let mut files: ChangedLines = Vec::new();
    let mut next = 0;
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            match path.strip_prefix("b/") {
                Some(path) => files.push((path.to_owned(), Vec::new())),
                None => files.push((String::new(), Vec::new())),
            }
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            let added = hunk.split(" +").nth(1).and_then(|added| added.split([',', ' ']).next());
            next = added.and_then(|added| added.parse().ok()).unwrap_or(0);
        } else if line.starts_with('+') {
            if let Some((_, ranges)) = files.last_mut() {
                ranges.push(next..=next);
            }
            next += 1;
        } else if line.starts_with(' ') {
            next += 1;
        }
    }
    files.retain(|(path, lines)| !path.is_empty() && !lines.is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_a_patch_adds_are_found() {
        let patch = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n@@ -9 +10 @@ def\n-x\n+y\n\
                     --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n";
        assert_eq!(added_lines(patch), [("x.py".to_owned(), vec![2..=2, 3..=3, 10..=10])]);
    }
}
