//! Checks of passing goals: whether they pass with the original tests, and whether these notice a change.
//!
//! A record is written before any file is replaced, so that the agent's files can be restored after a crash.

mod alterations;
mod altered;
mod beside;
mod bite;
mod delivered;
mod ignored;
mod in_place;
mod looking;
mod merged;
mod renamed;
mod setup;
mod skips;
mod without_work;
mod work_tests;
mod yardstick;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use ralph_core::event::{
    Bite, Checkpoint, Goal, GoalResult, GuardedChange, Notice, TestCounts, TestsChange, Text, Trial, TriedMutant,
};
use ralph_core::{machine::LoopState, notices::counted, run::RunView};
use ralph_gate::{
    guard::{
        FileContent, FileGuard, GuardError, OpenTrial, Originals, YardstickFile, YardstickKind, is_yardstick_alone,
        yardstick_diff,
    },
    runner::Runners,
};
use ralph_system::paths::{ProjectPaths, RunPaths};
use ralph_text::with_causes;

use alterations::Altering;
use beside::Start;
use ignored::off_loop;
use in_place::{InPlace, blocking};
pub(super) use looking::RunFiles;
use looking::{Looking, RanGoals};

pub use merged::check_merged;
pub(super) use skips::baselines;
use skips::{counted_alone, run_of, skipped_tests, skips_more};
use without_work::WithWork;
pub(super) use without_work::{Work, added_lines};
use work_tests::FailedBefore;
use yardstick::{Needed, Search};

use super::{
    goals::{CheckedGoal, ExecutionContext, all_passed},
    reruns::check_for_claim,
    room::FilledRoom,
};

/// The tests of a run's goals, as they were when it began.
#[derive(Debug)]
pub(super) struct TestGate {
    pub(super) runners: &'static Runners,
    /// `None` if there is no goal.
    guard: Option<FileGuard>,
    project: PathBuf,
    /// The files of the run, which hold the originals.
    files: RunPaths,
    /// The directory of the record of a trial.
    record: PathBuf,
    /// Whether this process has seen to it that there are originals. They are not made anew if they are lost later.
    kept: AtomicBool,
    /// The files that the last look found to be needed though the product is not made of them.
    needed: Mutex<Vec<YardstickFile>>,
}

/// The facts about a run that decide which originals its tests have.
#[derive(Debug)]
pub(super) struct RunSoFar {
    /// The iteration whose tests count; `None` for those of the start of the run.
    pub(super) tests_from: Option<u32>,
    /// The checkpoint before the first iteration.
    pub(super) first: Option<Checkpoint>,
    pub(super) has_iterations: bool,
    /// Whether tests were counted, so that there were originals then.
    has_counts: bool,
    /// The paths of changes that the user has accepted.
    pub(super) accepted: BTreeSet<String>,
}

impl RunSoFar {
    pub(super) fn new(state: &LoopState) -> Self {
        let view = &state.view;
        Self {
            tests_from: view.changed_tests.count_from(),
            first: state.internal.baseline.clone(),
            has_iterations: view.iterations.number > 0,
            has_counts: view.goals.iter().any(|goal| goal.baseline.is_some()),
            accepted: accepted(view),
        }
    }
}

/// Returns the paths of changes to what measures the work that the user has accepted.
pub(super) fn accepted(view: &RunView) -> BTreeSet<String> {
    let confirmed = view.changed_tests.confirmed.iter();
    let changes = confirmed.flat_map(|confirmed| &confirmed.changes);
    changes.map(|change| change.path.to_string()).collect()
}

const FROM_CHECKPOINT: &str = "The run began without these goals. The tests as they were then, in its first checkpoint, are what the work is tried with.";
const FROM_NOW: &str = "The run began without these goals, and git has no checkpoint of that time. The tests as they are now are \
                        what the work is tried with: what earlier iterations changed in them is not noticed.";

/// The findings of one look at the goals.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) results: Vec<GoalResult>,
    pub(super) trial: Option<Trial>,
    /// Why ralph itself could not try the original tests.
    pub(super) broken: Option<String>,
    pub(super) mutants: Vec<TriedMutant>,
    /// About the place where the goals ran.
    pub(super) notices: Vec<Notice>,
}

impl Look {
    /// Notes why its results are no evidence.
    pub(super) fn doubt(&mut self, why: &str) {
        let results = self.results.iter_mut();
        results.for_each(|result| result.doubt = Some(why.into()));
    }

    /// Records that the original tests could not be tried.
    fn untried(&mut self, project: &Path, changes: Vec<GuardedChange>, error: &GuardError) {
        match error.is_outside_of(project) {
            true => self.broken = Some(with_causes(error)),
            false => self.trial = Some(untried(changes, error)),
        }
    }
}

impl TestGate {
    pub(super) fn new(
        runners: &'static Runners,
        guard: Option<FileGuard>,
        paths: &ProjectPaths,
        files: &RunPaths,
    ) -> Self {
        Self {
            runners,
            guard,
            project: paths.project().to_owned(),
            files: files.clone(),
            record: paths.trial(),
            kept: AtomicBool::new(false),
            needed: Mutex::default(),
        }
    }

    /// Copies the guarded files, unless there are copies of them already. Goals may be added to a run: `earlier` returns the
    /// files that have changed since it began as they were then, or `None` if that is unknown.
    pub(super) fn keep_originals(
        &self,
        so_far: &RunSoFar,
        earlier: impl FnOnce() -> Option<BTreeMap<String, FileContent>>,
    ) -> Result<Vec<Notice>, GuardError> {
        let Some(guard) = self.guard.as_ref().filter(|_| !self.kept.load(Ordering::Relaxed)) else {
            return Ok(Vec::new());
        };
        let store = self.files.originals(so_far.tests_from);
        let kept = Originals::load(&store)?;
        let mut said = Vec::new();
        if !kept.as_ref().is_some_and(|kept| kept.are_of(guard)) {
            let earlier = if so_far.has_iterations {
                earlier()
            } else {
                Some(BTreeMap::new())
            };
            // Copies that were there once are not made of what an agent has left.
            let are_lost = kept.is_none() && (so_far.tests_from.is_some() || so_far.has_counts && earlier.is_none());
            if are_lost {
                return Err(GuardError::Gone { path: store });
            }
            if so_far.has_iterations {
                let text = match &earlier {
                    Some(_) => FROM_CHECKPOINT,
                    None => FROM_NOW,
                };
                said.push(Notice::warning("tests-kept-late", text));
            }
            let originals = guard.take_earlier(&self.project, &store, earlier.unwrap_or_default(), kept.as_ref())?;
            said.extend(notices(&originals));
        }
        self.kept.store(true, Ordering::Relaxed);
        Ok(said)
    }

    /// The originals and the changes since. `from` is the iteration whose changed tests were confirmed as originals.
    fn changes(&self, from: Option<u32>) -> Result<Option<(Originals, Vec<GuardedChange>)>, GuardError> {
        self.changes_in(&self.project, from)
    }

    /// As [`TestGate::changes`], for another place of the project's files.
    fn changes_in(
        &self,
        project: &Path,
        from: Option<u32>,
    ) -> Result<Option<(Originals, Vec<GuardedChange>)>, GuardError> {
        if self.guard.is_none() {
            return Ok(None);
        }
        let store = self.files.originals(from);
        let Some(originals) = Originals::load(&store)? else {
            return Err(GuardError::Gone { path: store });
        };
        let changes = originals.changes(project)?;
        Ok(Some((originals, changes)))
    }

    /// Whether all guarded files are unchanged.
    pub(super) fn is_unchanged(&self, from: Option<u32>) -> bool {
        matches!(self.changes(from), Ok(Some((_, changes))) if changes.is_empty())
    }

    /// Returns the changes of the tests and of what else measures so far, which may be empty. `before` are the files that the
    /// run changed, as they were.
    pub(super) fn changed(
        &self,
        from: Option<u32>,
        accepted: &BTreeSet<String>,
        before: impl FnOnce() -> Vec<(String, FileContent)>,
    ) -> Result<TestsChange, GuardError> {
        let Some((originals, mut changes)) = self.changes(from)? else {
            return Ok(TestsChange::default());
        };
        let mut files = self.needed.lock().clone();
        if files.is_empty() {
            files = yardstick::find(&originals, &self.project, &before(), accepted, &[])?;
            files.retain(|file| !matches!(file.kind, YardstickKind::Dependencies | YardstickKind::Test));
            let renamed = originals.new_files(&self.project)?.renamed;
            files.extend(renamed.into_iter().map(renamed::of_yardstick));
        }
        let diff = match changes.is_empty() {
            true => String::new(),
            false => originals.diff(&self.project)?,
        };
        changes.extend(files.iter().map(YardstickFile::change));
        if changes.is_empty() {
            return Ok(TestsChange::default());
        }
        Ok(TestsChange::new("", changes, diff + &yardstick_diff(&files)))
    }

    /// Copies the guarded files as they are after `iteration`, in case the user confirms them.
    pub(super) fn keep_changed(&self, iteration: u32) -> Result<(), GuardError> {
        let store = self.files.originals(Some(iteration));
        let kept = self.guard.as_ref().map(|guard| guard.take(&self.project, &store));
        kept.transpose().map(drop)
    }
}

/// Notices about patterns without a match and files that could not be guarded.
fn notices(originals: &Originals) -> Vec<Notice> {
    let unmatched = originals
        .unmatched()
        .iter()
        .map(|pattern| Notice::warning("guard-unmatched", format!("`gate.guard`: no file matches `{pattern}`.")));
    let left_out = originals.left_out();
    let first = left_out.first().map(|first| {
        let more = match left_out.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more files"),
        };
        Notice::warning(
            "file-not-guarded",
            format!(
                "{} is not guarded ({}){more}: a change of it will not be noticed.",
                first.path, first.why
            ),
        )
    });
    unmatched.chain(first).collect()
}

/// Restores the files that a trial had replaced when ralph was killed.
pub(super) fn recover(record: &Path, project: &Path) -> Option<Notice> {
    match OpenTrial::recover(record, project) {
        Ok(None) => None,
        Ok(Some(restored)) => Some(Notice::warning(
            "trial-recovered",
            format!(
                "ralph was ended while it had other files in place to try the tests. The agent's files are back in place: {}.",
                restored.join(", ")
            ),
        )),
        Err(error) => Some(Notice::warning(
            "trial-not-recovered",
            format!(
                "Files of the agent could not be restored after a trial: {}.",
                with_causes(&error)
            ),
        )),
    }
}

/// The directory in which files are replaced while goals run, and that of the record of it.
#[derive(Debug)]
struct Site {
    project: PathBuf,
    record: PathBuf,
}

impl Site {
    fn of(gate: &TestGate, place: &ExecutionContext) -> Site {
        match &place.room {
            Some(FilledRoom { room, .. }) => Site {
                project: room.project(),
                record: room.trial(),
            },
            None => Site {
                project: gate.project.clone(),
                record: gate.record.clone(),
            },
        }
    }
}

/// The gate and its settings, for goals that decide a claim.
pub(super) struct Closer {
    pub(super) gate: Arc<TestGate>,
    pub(super) bite: Bite,
    /// The iteration whose tests count; `None` for the tests at the start of the run.
    pub(super) from: Option<u32>,
    /// The counts of the original tests, by goal.
    pub(super) before: BTreeMap<String, TestCounts>,
    /// The results of the goals before the first iteration.
    pub(super) at_start: Vec<GoalResult>,
    /// The paths of changes that the user has accepted.
    pub(super) accepted: BTreeSet<String>,
}

/// Runs the goals. If they pass and decide a claim, also runs the trial, the mutants and the goals without the work.
pub(super) async fn look<Run: RunFiles>(
    goals: Vec<Goal>,
    parallel: bool,
    place: ExecutionContext,
    closer: Option<Closer>,
    run_files: &Arc<Run>,
    [first, latest]: [Option<Checkpoint>; 2],
) -> Look {
    let looking = Looking {
        goals,
        parallel,
        place: Arc::new(place),
        run_files: Arc::clone(run_files),
        first,
        latest,
    };
    let start = closer.as_ref().map(|closer| Start {
        store: closer
            .gate
            .guard
            .as_ref()
            .map(|_| closer.gate.files.originals(closer.from)),
        accepted: &closer.accepted,
        results: &closer.at_start,
    });
    let mut ran = looking.run(start).await;
    let mut look = Look {
        results: results(&ran.checked),
        notices: std::mem::take(&mut ran.notices),
        ..Look::default()
    };
    match closer.filter(|_| all_passed(&ran.checked)) {
        Some(closer) => match ran.altered.take() {
            Some((why, files)) => {
                look.trial = Some(needed(&closer.gate, files, &[], Some(why)));
                look
            }
            None => judged(look, looking, ran, closer).await,
        },
        None => look,
    }
}

/// Adds to a look whether passing goals are evidence.
async fn judged<Run: RunFiles>(mut look: Look, looking: Looking<Run>, ran: RanGoals, closer: Closer) -> Look {
    let Closer {
        gate,
        bite: wanted,
        from,
        before,
        at_start,
        accepted,
    } = closer;
    let RanGoals {
        checked,
        beside,
        took,
        work,
        ..
    } = ran;
    let work = match work {
        Some(work) => work,
        None => looking.work().await.0,
    };
    let Work {
        lines,
        before: before_work,
        suppressions,
        is_known,
    } = work;
    let Looking {
        goals,
        parallel,
        place,
        run_files,
        first,
        latest,
    } = looking;
    let before_work = Arc::new(before_work);
    let found = {
        let latest = latest.clone();
        off_loop(move || run_files.undelivered(latest.as_ref())).await
    };
    if let Some(doubt) = delivered::doubt(&found) {
        look.doubt(&doubt);
        return look;
    }
    let uncommitted = found.unwrap_or_default().uncommitted;
    look.notices
        .extend(delivered::uncommitted(uncommitted, [&first, &latest]));
    let room = place.room.clone();
    let renewed = off_loop(move || room.map_or(Ok(()), |room| room.renew()));
    if let Err(why) = renewed.await {
        look.doubt(&format!("the goals left files that cannot be put back: {why}"));
        return look;
    }
    // A test that passes with the work has lost its pardon, or the work would measure itself.
    let place = Arc::new(place.forgiving_failures_of(&checked));
    let site = Arc::new(Site::of(&gate, &place));
    let (mut at_once, mut yardstick) = (None, None);
    let found = match beside {
        Some((results, measure)) => {
            (at_once, yardstick) = (Some(results), Some(measure.yardstick));
            Ok(Some((measure.originals, measure.changes)))
        }
        None => {
            let (gate, site) = (Arc::clone(&gate), Arc::clone(&site));
            blocking(move || gate.changes_in(&site.project, from)).await
        }
    };
    let (originals, changes) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return look,
        Err(error) => {
            look.untried(&site.project, Vec::new(), &error);
            return look;
        }
    };
    let changed_tests: Vec<String> = changes.iter().map(|change| change.path.to_string()).collect();
    let tries = !changes.is_empty() || skips_more(&checked, &before);
    let (counted, with_work): (Vec<Goal>, Vec<WithWork>) = goals
        .iter()
        .zip(&checked)
        .filter(|(_, checked)| checked.result.tests.as_ref().is_some_and(|tests| tests.ran() > 0))
        // Mutants are made of the project's tests; a sealed goal runs others.
        .filter(|(goal, _)| goal.sealed.is_none())
        .map(|(goal, checked)| (goal.clone(), WithWork::from_checked(checked)))
        .unzip();
    look.notices.extend(suppressed(&suppressions));
    let failed_before = FailedBefore::of(&counted, &at_start);
    let originals = Arc::new(originals);
    let in_place = match InPlace::begin(&originals, &site.project, &site.record).await {
        Ok(in_place) => in_place,
        Err(error) => {
            if tries {
                look.untried(&site.project, changes, &error);
            }
            return look;
        }
    };
    let mut report = checked;
    let run = |goals| check_for_claim(goals, parallel, Arc::clone(&place));
    let find = || {
        let (originals, project, goals) = (Arc::clone(&originals), site.project.clone(), goals.clone());
        let (before, accepted, held) = (Arc::clone(&before_work), accepted.clone(), in_place.clone());
        blocking(move || {
            Ok(Search::new(
                yardstick::find(&originals, &project, &before, &accepted, &goals)?,
                &held,
            ))
        })
    };
    let mut search = match yardstick {
        Some(files) => Ok(Search::new(files, &in_place)),
        None => find().await,
    };
    let files = search.as_ref().map(Search::files).ok();
    let is_alone = is_known && files.is_some_and(|files| is_yardstick_alone(&originals, &before_work, &changes, files));
    let decides_nothing = is_alone && changes.is_empty() && files.is_some_and(<[_]>::is_empty);
    // Tests measure no documents, so none has to notice them.
    let bites = wanted != Bite::Off && !counted.is_empty() && (!decides_nothing || wanted == Bite::Require);
    let is_of_start = from.is_none() && accepted.is_empty() && place.room.is_some() && !skips_more(&report, &before);
    if let (Ok(search), true) = (&search, is_alone && is_of_start) {
        at_once = search.as_at_start(&goals, &at_start);
    }
    // Most work passes with the tests and all else as they were: then one run answers both.
    if at_once.is_none()
        && !changes.is_empty()
        && let Ok(found) = &mut search
    {
        match found.passing(|| run(goals.clone())).await {
            Ok(results) => at_once = results,
            Err(error) => search = Err(error),
        }
    }
    if let (Err(error), false) = (&search, changes.is_empty()) {
        look.untried(&site.project, changes, error);
        return look;
    }
    let passes_at_once = at_once.is_some();
    if tries {
        let skipped: Vec<Vec<String>> = report.iter().map(skipped_tests).collect();
        let (tried, mut held) = match at_once {
            Some(results) => (results, Ok(false)),
            None if changes.is_empty() => (report, Ok(false)),
            None => with_originals(&in_place, goals.clone(), run, &site.project, &originals).await,
        };
        let mut alone = None;
        if skips_more(&tried, &before) && all_passed(&tried) && held.is_ok() {
            let counted = counted_alone(&in_place, goals.clone(), run, &site, &originals).await;
            held = counted.map(|counted| alone = counted).map(|()| false);
        } else if matches!(held, Ok(true)) {
            search = find().await; // without the new tests
        }
        let of_originals = alone.as_ref().unwrap_or(&tried);
        for ((result, skipped), tried) in look.results.iter_mut().zip(&skipped).zip(of_originals) {
            result.newly_skipped = run_of(tried, skipped, &at_start);
        }
        let is_trial = !changes.is_empty() || skips_more(&tried, &before) || held.is_err();
        let problem = held
            .as_ref()
            .map_or_else(|error| Some(with_causes(error)), |_| in_place.refused());
        look.trial = is_trial.then(|| Trial {
            changes: changes.into(),
            results: results(of_originals),
            problem: problem.map(Text::from),
        });
        report = tried;
        if let Err(error) = held {
            look.broken = error.is_outside_of(&site.project).then(|| with_causes(&error));
            return look;
        }
    }
    let passed = all_passed(&report);
    if passed {
        let mut found = match search {
            _ if passes_at_once => Ok(None),
            Ok(search) => search.needed(|| run(goals.clone())).await,
            Err(error) => Err(error),
        };
        if let Ok(None) = found {
            found = renamed::needed(&in_place, &counted, run, &site.project, &originals).await;
        }
        let needed = match found {
            Ok(needed) => needed,
            Err(error) => {
                look.untried(&site.project, Vec::new(), &error);
                return look;
            }
        };
        gate.needed.lock().clear();
        if let Some(Needed { files, results }) = needed {
            look.trial = Some(self::needed(&gate, files, &results, None));
            if let Err(error) = in_place.end().await {
                look.untried(&site.project, Vec::new(), &error);
            }
            return look;
        }
    }
    let mut altering = Altering {
        goals: counted,
        took,
        parallel,
        place,
        originals,
        failed_before,
        project: site.project.clone(),
        record: site.record.clone(),
        lines,
        before: before_work,
        wanted,
    };
    let mut runs = None;
    if bites && passed {
        let (tried, altered) = altering.of_tests(&in_place, &report).await;
        look.mutants = tried;
        runs = Some(altered).filter(|_| in_place.is_held());
    }
    let mut ended = in_place.end().await;
    if let (Ok(()), Some(runs)) = (&ended, runs) {
        let tried = altering.of_work(runs, changed_tests, &with_work).await;
        ended = tried.map(|tried| look.mutants.extend(tried));
    }
    if let Err(error) = ended {
        let why = format!("the agent's files could not be restored: {}", with_causes(&error));
        match error.is_outside_of(&site.project) {
            true => look.broken = Some(why),
            false => look.trial.get_or_insert_default().problem = Some(why.into()),
        }
    }
    look
}

/// Returns a notice of what the work has tools pass over.
fn suppressed(added: &BTreeMap<&str, u32>) -> Option<Notice> {
    let all: u32 = added.values().sum();
    let parts: Vec<String> = added
        .iter()
        .map(|(what, count)| format!("{count} × `{what}`"))
        .collect();
    let new = counted(all.into(), "new suppression");
    let text = format!("the work has {new}: {}", parts.join(", "));
    (all > 0).then(|| Notice::info("suppressions-added", text))
}

fn results(checked: &[CheckedGoal]) -> Vec<GoalResult> {
    checked.iter().map(|checked| checked.result.clone()).collect()
}

/// Returns the trial in which goals do not pass without these files, and keeps them for the question about it.
fn needed(gate: &TestGate, files: Vec<YardstickFile>, without: &[CheckedGoal], problem: Option<String>) -> Trial {
    let changes: Vec<GuardedChange> = files.iter().map(YardstickFile::change).collect();
    *gate.needed.lock() = files;
    Trial {
        changes: changes.into(),
        results: results(without),
        problem: problem.map(Text::from),
    }
}

/// The result of a trial of `changes` that could not run.
fn untried(changes: Vec<GuardedChange>, error: &GuardError) -> Trial {
    Trial {
        changes: changes.into(),
        results: Vec::new(),
        problem: Some(with_causes(error).into()),
    }
}

/// Runs the goals with the originals in place. If they fail, runs them once more without new test files: new tests may
/// need a fixture that changed with them, and the older tests must pass without it. Returns whether there were new ones.
///
/// # Errors
/// [`GuardError`] beside the results if the new tests cannot be removed. The agent's files are restored then.
async fn with_originals<Running: Future<Output = Vec<CheckedGoal>>>(
    in_place: &InPlace,
    goals: Vec<Goal>,
    run: impl Fn(Vec<Goal>) -> Running,
    project: &Path,
    originals: &Arc<Originals>,
) -> (Vec<CheckedGoal>, Result<bool, GuardError>) {
    let report = run(goals.clone()).await;
    if all_passed(&report) {
        return (report, Ok(false));
    }
    match in_place.without_new_tests(originals, project).await {
        Ok(true) => (run(goals).await, Ok(true)),
        kept => (report, kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a goal that passed.
    pub(super) fn passing(name: &str) -> GoalResult {
        GoalResult {
            name: name.to_owned(),
            passed: true,
            exit: None,
            score: None,
            target: None,
            duration_ms: 1,
            why: None,
            tail: Default::default(),
            tests: None,
            doubt: None,
            failed_tests: Default::default(),
            newly_skipped: Default::default(),
            flaky: None,
            sealed_output: None,
        }
    }
}
