//! Runs of goals with altered files.
//!
//! Where a runner can be told which tests to run, only those of the altered files are run. A failure among them is one of all
//! tests as well; if none fails, all tests run.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use ralph_core::event::{Goal, MutantOutcome, TestCounts};
use ralph_gate::{mutants::Mutation, runner::Runners};
use ralph_text::is_part_of_word;

use super::{
    super::goals::{CheckedGoal, ExecutionContext, all_passed, check_all},
    in_place::InPlace,
};

/// Goals that take less are not narrowed to some tests: most of what they take is their start.
const LONG: Duration = Duration::from_millis(1500);

/// Runs goals with altered files, which are restored after each run.
pub(super) struct AlteredRuns {
    /// Once files could not be altered or restored, nothing runs any more.
    pub(super) held: InPlace,
    pub(super) goals: Vec<Goal>,
    /// The goals with only some tests. They have passed so, in half of the time.
    pub(super) narrowed: Option<Vec<Goal>>,
    /// The time that they took as they are.
    pub(super) took: Duration,
    pub(super) parallel: bool,
    pub(super) place: Arc<ExecutionContext>,
}

/// Returns goals that run only the tests of some files, or those with some names; `None` if one cannot be told so.
pub(super) fn narrowed(
    goals: &[Goal],
    runners: &Runners,
    files: &BTreeSet<&str>,
    names: &BTreeSet<String>,
) -> Option<Vec<Goal>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let narrow = |goal: &Goal| {
        let below = |file: &&str| {
            let from = goal.workspace.as_deref().unwrap_or_default();
            Path::new(*file).strip_prefix(from).ok()?.to_str().map(str::to_owned)
        };
        let files: Vec<String> = files.iter().map(below).collect::<Option<_>>()?;
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        Some(Goal {
            command: runners.narrowed(&goal.command, &files, &names)?,
            ..goal.clone()
        })
    };
    goals.iter().map(narrow).collect()
}

/// A file and its altered content.
#[derive(Clone)]
pub(super) struct AlteredFile {
    pub(super) path: String,
    pub(super) before: Vec<u8>,
    pub(super) altered: Vec<u8>,
}

impl AlteredRuns {
    /// Runs all tests.
    pub(super) async fn run(&mut self, files: Vec<AlteredFile>) -> Option<Vec<CheckedGoal>> {
        self.run_goals(self.goals.clone(), files).await
    }

    /// Runs some tests, if the goals can be narrowed.
    pub(super) async fn run_some(&mut self, files: Vec<AlteredFile>) -> Option<Vec<CheckedGoal>> {
        let goals = self.narrowed.as_ref().unwrap_or(&self.goals).clone();
        self.run_goals(goals, files).await
    }

    /// Runs some tests, and all of them unless one fails.
    pub(super) async fn outcome(&mut self, file: AlteredFile) -> Option<MutantOutcome> {
        if self.narrowed.is_some() {
            let of_some = outcome(&self.run_some(vec![file.clone()]).await?);
            if of_some == MutantOutcome::Noticed {
                return Some(of_some);
            }
        }
        Some(outcome(&self.run(vec![file]).await?))
    }

    /// Narrows the goals to the tests of some files, or to those with some names, if they pass so with these files. Returns
    /// whether they do. A script may run all tests whatever it is told: then they stay as they are.
    pub(super) async fn narrow(&mut self, files: Vec<AlteredFile>, names: &BTreeSet<String>) -> Option<bool> {
        let paths: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
        let Some(goals) = narrowed(&self.goals, self.place.runners, &paths, names).filter(|_| self.are_long()) else {
            return Some(false);
        };
        let results = self.run_goals(goals.clone(), files).await?;
        let passes = all_passed(&results) && results.iter().all(|checked| ran(checked) > 0);
        let is_faster = duration(&results, self.parallel) * 2 <= self.took;
        self.narrowed = (passes && is_faster).then_some(goals);
        Some(passes)
    }

    /// Whether they take longer than it takes to start them, so that it may pay to run only some tests.
    pub(super) fn are_long(&self) -> bool {
        self.took >= LONG
    }

    async fn run_goals(&mut self, goals: Vec<Goal>, files: Vec<AlteredFile>) -> Option<Vec<CheckedGoal>> {
        for file in &files {
            self.held.substitute(file.path.clone(), file.altered.clone()).await?;
        }
        let results = check_all(goals, self.parallel, Arc::clone(&self.place)).await;
        for file in files {
            self.held.substitute(file.path, file.before).await?;
        }
        Some(results)
    }
}

/// The time that goals took.
pub(super) fn duration(checked: &[CheckedGoal], parallel: bool) -> Duration {
    let durations = checked.iter().map(|checked| checked.result.duration_ms);
    Duration::from_millis(match parallel {
        true => durations.max().unwrap_or_default(),
        false => durations.sum(),
    })
}

/// The number of tests that a goal ran.
pub(super) fn ran(checked: &CheckedGoal) -> u32 {
    checked.result.tests.as_ref().map_or(0, TestCounts::ran)
}

pub(super) fn outcome(results: &[CheckedGoal]) -> MutantOutcome {
    if all_passed(results) {
        return MutantOutcome::Missed;
    }
    let has_failed = |checked: &CheckedGoal| checked.result.tests.as_ref().is_some_and(|tests| tests.failed > 0);
    match results.iter().any(has_failed) {
        true => MutantOutcome::Noticed,
        false => MutantOutcome::NoVerdict,
    }
}

/// Returns the line that opens the test of an altered expectation.
pub(super) fn header_of(mutation: &Mutation, text: &str) -> Option<String> {
    let line = (mutation.test as usize).checked_sub(1)?;
    text.lines().nth(line).map(str::to_owned)
}

/// Returns the name of the function that a line opens: the word before the first parenthesis.
pub(super) fn function_name(header: &str) -> Option<String> {
    let before = header.split('(').next()?;
    let name = before.rsplit(|c: char| !is_part_of_word(c)).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}
