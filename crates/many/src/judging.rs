//! Judges merged trees: stores the tests of both sides for the trials of the goals, and evaluates the
//! results.
//!
//! The tests of a side are taken from the scratch work tree, which is ralph's own: it holds the target for a
//! moment, overlaid with those files of the plan's branch that count for this side.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::{
    event::{Event, Exit, GateEvent, Proof, RunId, StopReason},
    run::{GoalState, RunView},
};
use ralph_gate::guard::FileGuard;
use ralph_git::{below_root, changed_since_fork, overlay};
use ralph_plan::batch::{
    Batch, BatchPlan, ConfirmedChanges, FailedTests, GoalTests, MergeProof, MergedResults, RequiredCounts, Side,
    TaskResult, TestLoss, TestTrouble, judge,
};
use ralph_state::store::journal;
use ralph_system::paths::ProjectPaths;
use ralph_text::with_causes;
use ralph_words::{too_little_proof, untried_tests};

use super::{
    gate::{JudgingFiles, MergeCheck},
    job::EndedJob,
    worker::{Site, TaskFailure, git_failure, reported_error},
};

/// A merged tree that is checked out for the goals.
#[derive(Debug)]
pub(super) struct CheckedOutMerge {
    pub(super) project: PathBuf,
    /// The requirements of each merged plan; those of the target are in the first.
    pub(super) required: Vec<RequiredCounts>,
}

/// A plan of a merge that is judged.
struct MergedPlan<'b> {
    plan: &'b BatchPlan,
    /// The revision that names the tip of its branch.
    branch: String,
    history: TestHistory,
    /// Test changes that were confirmed for the plans that its branch lacks.
    by_others: ConfirmedChanges,
}

/// Tests with a change that the user confirmed for a plan, and the time of the latest confirmation in
/// milliseconds since the Unix epoch.
type ConfirmedAt = BTreeMap<String, u64>;

/// Judges the merged trees of a batch.
pub(super) struct MergeJudge<'s> {
    site: &'s Site,
    files: JudgingFiles,
}

impl<'s> MergeJudge<'s> {
    pub(super) fn new(site: &'s Site) -> MergeJudge<'s> {
        MergeJudge {
            site,
            files: JudgingFiles::new(site.paths.judging()),
        }
    }

    /// Stores the tests of both sides, then checks out the merged commit in the scratch work tree for the
    /// goals.
    pub(super) fn check_out(
        &self,
        batch: &Batch,
        plan: &BatchPlan,
        commit: &str,
        onto: &str,
    ) -> Result<CheckedOutMerge, TaskFailure> {
        let files = &self.files;
        match fs::remove_dir_all(files.directory()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", files.directory().display()));
            }
            Ok(()) | Err(_) => {}
        }
        fs::create_dir_all(files.directory()).map_err(|error| error.to_string())?;
        let scratch = self.site.paths.scratch_tree();
        let merged = self.merged_plans(batch, plan, commit)?;
        if let Some(guard) = &self.site.gate.guard {
            // Ignored files here are left over from the goals of an earlier merge.
            self.site.branches.reset_tree(&scratch, onto).map_err(git_failure)?;
            self.site.branches.remove_ignored(&scratch).map_err(git_failure)?;
            for merged in &merged {
                let confirmed = merged.history.at.keys();
                let confirmed = confirmed.map(|path| below_root(&self.site.branches, path));
                self.put_tests(merged, confirmed.collect())?;
            }
            self.keep_tests(guard, &files.target_store())?;
            for (number, merged) in merged.iter().enumerate() {
                self.site.branches.reset_tree(&scratch, onto).map_err(git_failure)?;
                self.put_tests(merged, self.own_paths(batch, merged, onto)?)?;
                self.keep_tests(guard, &files.plan_store(number))?;
            }
        }
        self.site.branches.reset_tree(&scratch, commit).map_err(git_failure)?;
        // Goals that pass only with leftovers of another plan's goals would fail in a fresh clone.
        self.site.branches.remove_ignored(&scratch).map_err(git_failure)?;
        let project = self.site.branches.project_in(&scratch);
        self.site.trust(&self.site.state_at(&project)?)?;
        let failed_before = merged.iter().map(|merged| merged.history.failed_before.as_ref());
        let failed_before = failed_before.map(|failed| failed.cloned().unwrap_or_default());
        let failed_before = failed_before.reduce(|some, others| both_failed(&some, &others));
        let failed_before = failed_before.unwrap_or_default();
        let (target, known_failures) = match (&batch.target_proof, merged.first()) {
            (Some(proof), _) if batch.target_commit == onto => {
                // A test that an earlier plan made pass may not fail again.
                let known = both_failed(&failed_before, &proof.forgiven);
                (proof.tests.clone(), known)
            }
            (_, Some(first)) if plan.base == onto => (first.history.began_with.clone(), failed_before),
            // The target's tests are unknown.
            (Some(_) | None, _) => (GoalTests::new(), FailedTests::new()),
        };
        let written = files.write_known_failures(&known_failures);
        written.map_err(|error| error.to_string())?;
        Ok(CheckedOutMerge {
            project,
            required: required_counts(target, merged),
        })
    }

    /// Returns the plans of a merge commit, in the order of its parents.
    fn merged_plans<'b>(
        &self,
        batch: &'b Batch,
        first: &'b BatchPlan,
        commit: &str,
    ) -> Result<Vec<MergedPlan<'b>>, TaskFailure> {
        let others = first.group.iter().filter_map(|name| batch.plan(name));
        let mut merged = Vec::new();
        for (number, plan) in [first].into_iter().chain(others).enumerate() {
            let branch = format!("{commit}^{}", number + 2);
            merged.push(MergedPlan {
                plan,
                history: self.history(plan)?,
                by_others: self.confirmed_of_target(batch, &branch)?,
                branch,
            });
        }
        let confirmed: Vec<ConfirmedChanges> = merged.iter().map(|merged| merged.history.confirmed.clone()).collect();
        for (number, plan) in merged.iter_mut().enumerate() {
            for (_, other) in confirmed.iter().enumerate().filter(|(at, _)| *at != number) {
                plan.by_others.add(other);
            }
        }
        Ok(merged)
    }

    /// Returns the paths whose version on the plan's branch counts: those that the branch has changed and
    /// those that were in conflict, except changes of tests that were confirmed for merged plans.
    fn own_paths(&self, batch: &Batch, merged: &MergedPlan<'_>, onto: &str) -> Result<Vec<String>, TaskFailure> {
        let branches = &self.site.branches;
        let in_root = |path: &String| below_root(branches, path);
        let by_target: BTreeSet<String> = merged.by_others.paths.iter().map(in_root).collect();
        let by_others = confirmed_of_merged(batch).flat_map(|(_, confirmed)| &confirmed.paths);
        let by_others: BTreeSet<String> = by_others.map(in_root).collect();
        let changed = changed_since_fork(branches, onto, &merged.branch).map_err(git_failure)?;
        let changed = changed.into_iter().filter(|path| !by_target.contains(path));
        let in_conflict = merged.plan.conflicts.keys().filter(|path| !by_others.contains(*path));
        let paths: BTreeSet<String> = changed.chain(in_conflict.cloned()).collect();
        Ok(paths.into_iter().collect())
    }

    /// Puts the plan's version of `paths` into the scratch work tree.
    fn put_tests(&self, merged: &MergedPlan<'_>, paths: Vec<String>) -> Result<(), TaskFailure> {
        let scratch = self.site.paths.scratch_tree();
        let confirmed: ConfirmedAt = merged
            .history
            .at
            .iter()
            .map(|(path, at)| (below_root(&self.site.branches, path), *at))
            .collect();
        let mut by_commit: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in paths {
            let commit = version(merged.plan, &confirmed, &path).unwrap_or(&merged.branch);
            by_commit.entry(commit).or_default().push(path);
        }
        for (commit, paths) in by_commit {
            overlay(&self.site.branches, &scratch, commit, &paths).map_err(git_failure)?;
        }
        Ok(())
    }

    /// Stores the tests of the scratch work tree.
    fn keep_tests(&self, guard: &FileGuard, store: &Path) -> Result<(), TaskFailure> {
        let scratch = self.site.branches.project_in(&self.site.paths.scratch_tree());
        let kept = guard.take(&scratch, store);
        kept.map(drop).map_err(|error| with_causes(&error))
    }

    /// Returns the test changes that were confirmed for merged plans which `branch` does not contain.
    fn confirmed_of_target(&self, batch: &Batch, branch: &str) -> Result<ConfirmedChanges, TaskFailure> {
        let mut all = ConfirmedChanges::default();
        for (commit, confirmed) in confirmed_of_merged(batch) {
            if !confirmed.is_empty() && !self.site.branches.is_ancestor(commit, branch).map_err(git_failure)? {
                all.add(confirmed);
            }
        }
        Ok(all)
    }

    /// Judges the merged tree by the exit code and the result file of `ralph goals check`; `stopped` if the
    /// goals were interrupted.
    pub(super) fn verdict(&self, ended: &EndedJob, stopped: bool, required: &[RequiredCounts]) -> TaskResult {
        failure(ended, stopped).unwrap_or_else(|| self.verdict_on_tests(required))
    }

    fn verdict_on_tests(&self, required: &[RequiredCounts]) -> TaskResult {
        let check = match self.files.read() {
            Ok(check) => check,
            Err(why) => return TaskResult::Failed { why },
        };
        match judge_all(required, &check) {
            Ok(proof) if proof.proof < self.site.gate.require => TaskResult::Failed {
                why: too_little_proof(proof.proof, self.site.gate.require),
            },
            Ok(proof) => TaskResult::GoalsPassed { proof: Some(proof) },
            Err(troubles) => match troubles.iter().find_map(untried) {
                // An agent could not fix it.
                Some(why) => TaskResult::Failed { why },
                None => TaskResult::TestsRefused { troubles },
            },
        }
    }

    /// Judges a merged tree without goals.
    pub(super) fn verdict_without_goals(&self) -> TaskResult {
        match self.site.gate.require > Proof::Nothing {
            true => TaskResult::Failed {
                why: too_little_proof(Proof::Nothing, self.site.gate.require),
            },
            false => TaskResult::GoalsPassed { proof: None },
        }
    }

    fn history(&self, plan: &BatchPlan) -> Result<TestHistory, TaskFailure> {
        let state = self.site.state_of(&plan.name)?;
        let mut history = TestHistory::default();
        for run in state.run_ids() {
            history.read(&state, &run)?;
        }
        Ok(history)
    }
}

/// Returns the requirements of each plan; those of the target are in the first, which may make the changes that were
/// confirmed for any of them.
fn required_counts(target: GoalTests, merged: Vec<MergedPlan<'_>>) -> Vec<RequiredCounts> {
    let mut by_plans = ConfirmedChanges::default();
    for merged in &merged {
        by_plans.add(&merged.history.confirmed);
    }
    let mut required: Vec<RequiredCounts> = merged
        .into_iter()
        .map(|merged| RequiredCounts {
            plan: merged.history.ended_with,
            plan_fewest: merged.history.fewest,
            by_target: merged.by_others,
            ..RequiredCounts::default()
        })
        .collect();
    if let Some(first) = required.first_mut() {
        (first.target, first.by_plan) = (target, by_plans);
    }
    required
}

/// Judges the merged tree by the requirements of each plan. The evidence is that of the first.
fn judge_all(required: &[RequiredCounts], check: &MergeCheck) -> Result<MergeProof, Vec<TestTrouble>> {
    let (mut proofs, mut troubles) = (Vec::new(), Vec::new());
    for (number, required) in required.iter().enumerate() {
        let of_target = check.with_target.iter().filter(|_| number == 0);
        let of_target = of_target.map(|trial| (Side::Target, trial.clone()));
        let of_plan = check.with_plans.get(number).into_iter().flatten();
        let of_plan = of_plan.map(|trial| (Side::Plan, trial.clone()));
        let merged = MergedResults {
            results: check.results.clone(),
            trials: of_target.chain(of_plan).collect(),
        };
        match judge(required, &merged) {
            Ok(proof) => proofs.push(proof),
            Err(found) => troubles.extend(found),
        }
    }
    match (proofs.into_iter().next(), troubles.is_empty()) {
        (Some(proof), true) => Ok(proof),
        (_, _) => Err(troubles),
    }
}

/// Returns the failure that the exit code of `ralph goals check` stands for; `None` if the goals passed.
fn failure(ended: &EndedJob, stopped: bool) -> Option<TaskResult> {
    match ended.exit {
        Some(Exit::Code { code: 0 }) => None,
        Some(Exit::Code { code: 1 }) if !stopped => Some(TaskResult::GoalsFailed {
            output: ended.tail.clone(),
        }),
        _ if stopped => Some(TaskResult::GoalsUnknown),
        _ => Some(TaskResult::Failed {
            why: reported_error(&ended.tail),
        }),
    }
}

fn untried(trouble: &TestTrouble) -> Option<String> {
    match trouble {
        TestTrouble::Untried { side, why, changes } => Some(untried_tests(*side, why, changes)),
        TestTrouble::Fewer { .. } | TestTrouble::Fails { .. } | TestTrouble::Doubtful { .. } => None,
    }
}

/// Returns the tests that are in both.
fn both_failed(some: &FailedTests, others: &FailedTests) -> FailedTests {
    let both = some.iter().filter_map(|(goal, tests)| {
        let others = others.get(goal)?;
        let tests = tests.iter().filter(|test| others.contains(test));
        Some((goal.clone(), tests.cloned().collect()))
    });
    both.collect()
}

/// Returns the commits of merged plans, each with its confirmed test changes.
fn confirmed_of_merged(batch: &Batch) -> impl Iterator<Item = (&str, &ConfirmedChanges)> {
    let plans = batch.plans.iter();
    plans.filter_map(|plan| Some((plan.merged_as()?.as_str(), &plan.merge_proof.as_ref()?.confirmed)))
}

/// Returns the commit with the plan's own version of a file: the one before a conflict in it, unless its
/// resolution was confirmed; `None` for the tip of the plan's branch.
fn version<'p>(plan: &'p BatchPlan, confirmed: &ConfirmedAt, path: &str) -> Option<&'p str> {
    let (commit, conflict_ms) = plan.conflicts.get(path).filter(|(commit, _)| !commit.is_empty())?;
    let is_confirmed = confirmed.get(path).is_some_and(|at_ms| at_ms > conflict_ms);
    (!is_confirmed).then_some(commit)
}

/// The results of tests in the runs of a plan.
#[derive(Debug, Default)]
struct TestHistory {
    /// Tests before its first run.
    began_with: GoalTests,
    /// Tests that failed before each of its runs, if failures from before a run are forgiven; `None` before the first
    /// run whose goals ran at its start.
    failed_before: Option<FailedTests>,
    /// Tests at the end of its last run.
    ended_with: GoalTests,
    /// For each goal, the fewest tests at the end of a successful run.
    fewest: GoalTests,
    /// Confirmed changes of its runs.
    confirmed: ConfirmedChanges,
    at: ConfirmedAt,
}

impl TestHistory {
    fn read(&mut self, state: &ProjectPaths, run: &RunId) -> Result<(), TaskFailure> {
        let mut view = RunView::default();
        let mut confirmed = Vec::new();
        let read = journal::for_each(&state.run(run).journal(), |record| {
            view.apply(&record);
            if let Event::Gate(GateEvent::TestsConfirmed { changes, .. }) = record.event {
                confirmed.extend(
                    changes
                        .into_iter()
                        .map(|change| (String::from(change.path), record.at_ms)),
                );
            }
        });
        read.map_err(|error| with_causes(&error))?;
        let baselines = view.goals.iter();
        let baselines = baselines.filter_map(|goal| Some((goal.name.clone(), goal.baseline.clone()?)));
        // A confirmation resets the baseline of a goal; the results at the start of the run take precedence.
        let at_start = view.iterations.at_start.goals.iter();
        let at_start = at_start.filter_map(|result| Some((result.name.clone(), result.tests.clone()?)));
        let began_with: GoalTests = baselines.chain(at_start).collect();
        let results = view.goals.iter().filter_map(|goal| match &goal.state {
            GoalState::Checked { result } => Some((goal.name.clone(), result.tests.clone()?)),
            GoalState::Unknown | GoalState::Running => None,
        });
        self.ended_with = results.collect();
        if view.stop_reason().is_some_and(StopReason::is_success) {
            for (goal, tests) in &self.ended_with {
                let fewest = self.fewest.entry(goal.clone()).or_insert_with(|| tests.clone());
                if tests.ran() < fewest.ran() {
                    fewest.clone_from(tests);
                }
            }
        }
        if !confirmed.is_empty() {
            let losses = began_with.iter().map(|(goal, before)| {
                let now = self.ended_with.get(goal).cloned().unwrap_or_default();
                (goal.clone(), TestLoss::between(before, &now))
            });
            self.confirmed.add(&ConfirmedChanges {
                paths: confirmed.iter().map(|(path, _)| path.clone()).collect(),
                goals: losses.filter(|(_, loss)| *loss != TestLoss::default()).collect(),
            });
            self.at.extend(confirmed);
        }
        if !view.iterations.at_start.goals.is_empty() {
            let failed = view.known_failures();
            self.failed_before = Some(match &self.failed_before {
                Some(before) => both_failed(before, &failed),
                None => failed,
            });
        }
        if self.began_with.is_empty() {
            self.began_with = began_with;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ralph_plan::batch::PlanName;

    use super::*;

    #[test]
    fn a_file_in_conflict_counts_as_it_was_before_unless_it_is_confirmed_afterwards() {
        let id = ralph_plan::batch::BatchId("b".to_owned());
        let mut batch = Batch::opened(id);
        let planned = ralph_plan::batch::Planned {
            name: PlanName("api".to_owned()),
            file: "api.md".to_owned(),
            section: None,
            after: Vec::new(),
            issue: None,
        };
        let event = ralph_plan::batch::BatchEvent::BatchStarted {
            target: "t".to_owned(),
            base: "c0".to_owned(),
            jobs: 1,
            engine: "local".to_owned(),
            arguments: Vec::new(),
            plans: vec![planned],
            limits: ralph_plan::batch::BatchLimits::default(),
            delivery: None,
            watches: false,
        };
        let (seq, at_ms) = (0, 0);
        batch.apply(&ralph_plan::batch::BatchRecord { seq, at_ms, event });
        let plan = &mut batch.plans[0];
        let conflicts = [("a.test.js", "b1"), ("old.test.js", "")];
        plan.conflicts = conflicts
            .map(|(path, commit)| (path.to_owned(), (commit.to_owned(), 5)))
            .into();
        let confirmed = |at_ms| ConfirmedAt::from([("a.test.js".to_owned(), at_ms)]);
        let nothing = ConfirmedAt::new();
        assert_eq!(version(plan, &nothing, "a.test.js"), Some("b1"));
        assert_eq!(version(plan, &confirmed(4), "a.test.js"), Some("b1"));
        assert_eq!(version(plan, &confirmed(6), "a.test.js"), None);
        assert_eq!(version(plan, &nothing, "b.test.js"), None);
        assert_eq!(
            version(plan, &nothing, "old.test.js"),
            None,
            "of a journal without the commit"
        );
    }

    #[test]
    fn goals_failed_if_they_say_so_whatever_is_printed_last() {
        let verdict = |code, tail: &str, stopped| {
            let ended = EndedJob {
                exit: Some(Exit::Code { code }),
                tail: tail.to_owned(),
            };
            failure(&ended, stopped)
        };
        let output = "✖ tests: exit code 1\n0 of 1 goal passed\nwarning: the disk is nearly full\n".to_owned();
        let failed = TaskResult::GoalsFailed { output: output.clone() };
        assert_eq!(verdict(1, &output, false), Some(failed));
        let unknown = Some(TaskResult::GoalsUnknown);
        assert_eq!(verdict(1, &output, true), unknown, "they may have been ended");
        let why = "no temporary directory".to_owned();
        assert_eq!(
            verdict(2, "error: no temporary directory\n0 of 1 goal passed\n", false),
            Some(TaskResult::Failed { why })
        );
        assert_eq!(verdict(0, "1 of 1 goal passed\n", false), None);
    }
}
