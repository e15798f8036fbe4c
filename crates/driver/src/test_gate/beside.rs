//! The goals on the files as the run left them and, at the same time, with what measures the work as it was.

use std::{collections::BTreeSet, path::PathBuf};

use ralph_core::event::{Goal, GoalResult, GuardedChange};
use ralph_gate::guard::{FileContent, GuardError, Originals, YardstickFile, YardstickKind, is_yardstick_alone};
use tracing::debug;

use super::{
    super::{
        goals::{CheckedGoal, ExecutionContext, all_passed, check_side_by_side},
        room::FilledRoom,
    },
    in_place::blocking,
    without_work::Work,
    yardstick,
};

/// A goal may take this long at least, or this many times the duration that it had at the start.
const PATIENCE_MS: u64 = 30_000;
const PATIENCE_FACTOR: u64 = 4;

/// The results of goals that pass in both, and what measures the work.
pub(super) struct PassingBoth {
    pub(super) as_left: Vec<CheckedGoal>,
    /// With the original tests and with new ones.
    pub(super) with_originals: Vec<CheckedGoal>,
    pub(super) measure: Measure,
}

pub(super) struct Measure {
    pub(super) originals: Originals,
    pub(super) changes: Vec<GuardedChange>,
    pub(super) yardstick: Vec<YardstickFile>,
}

/// The state that the work is compared with.
pub(super) struct Start<'a> {
    /// The place of the originals, if there are any.
    pub(super) store: Option<PathBuf>,
    /// The paths of changes that the user has accepted.
    pub(super) accepted: &'a BTreeSet<String>,
    /// The results of the goals before the first iteration.
    pub(super) results: &'a [GoalResult],
}

/// Runs the goals in layers over the room. Returns `None` if one fails, which says nothing as goals may use the same ports,
/// where nothing was changed that measures, and if the room does not suit.
pub(super) async fn passing(
    goals: &[Goal],
    parallel: bool,
    place: &ExecutionContext,
    filled: &FilledRoom,
    start: &Start<'_>,
    work: &Work,
) -> Option<PassingBoth> {
    // The tests that may fail are known after the first run, and a sealed goal runs in a copy of its own.
    if !filled.suits_layers() || !place.known_failures.is_empty() || goals.iter().any(|goal| goal.sealed.is_some()) {
        return None;
    }
    let find = {
        let (store, project, filled) = (start.store.clone()?, place.files(), filled.clone());
        let (accepted, goals) = (start.accepted.clone(), goals.to_vec());
        let (before, is_known) = (work.before.clone(), work.is_known);
        move || {
            let Some(originals) = Originals::load(&store)? else {
                return Ok(None);
            };
            let (changes, tests) = originals.compared(&project)?;
            let yardstick = yardstick::find(&originals, &project, &before, &accepted, &goals)?;
            let is_alone = is_known && is_yardstick_alone(&originals, &before, &changes, &yardstick);
            if is_alone || changes.is_empty() && yardstick.is_empty() {
                return Ok(None);
            }
            let places = in_layers(&filled, tests, &yardstick);
            let measure = Measure {
                originals,
                changes,
                yardstick,
            };
            Ok::<_, GuardError>(places.map(|places| (places, measure)))
        }
    };
    let (places, measure) = blocking(find).await.ok()??;
    let goals = hurried(goals, start.results);
    let results = check_side_by_side(&goals, parallel, place, places).await;
    if !results.iter().all(|results| all_passed(results)) {
        return None;
    }
    let mut results = results.into_iter();
    Some(PassingBoth {
        as_left: results.next()?,
        // With new tests, the originals were tried beside these as well.
        with_originals: results.next_back()?,
        measure,
    })
}

/// Returns the goals with less time, as they may wait for each other: as long as several of their runs took at the start.
fn hurried(goals: &[Goal], at_start: &[GoalResult]) -> Vec<Goal> {
    let hurried = |goal: &Goal| {
        let before = at_start.iter().find(|result| result.name == goal.name);
        let took_ms = before.map_or(0, |before| before.duration_ms);
        let patience_ms = PATIENCE_MS.max(took_ms.saturating_mul(PATIENCE_FACTOR));
        Goal {
            timeout_ms: goal.timeout_ms.min(patience_ms),
            ..goal.clone()
        }
    };
    goals.iter().map(hurried).collect()
}

/// Returns the room as it is, with all that measures as it was, and if there are new tests, with these and the original `tests`.
fn in_layers(
    filled: &FilledRoom,
    tests: Vec<(String, FileContent)>,
    yardstick: &[YardstickFile],
) -> Option<Vec<FilledRoom>> {
    let has_new_tests = yardstick.iter().any(|file| file.kind == YardstickKind::Test);
    let all = yardstick.iter().map(|file| (file.path.clone(), file.before.clone()));
    let all = tests.iter().cloned().chain(all).collect();
    let mut lists = vec![Vec::new(), all];
    lists.extend(has_new_tests.then_some(tests));
    let layers = filled.in_layers(&lists);
    layers.inspect_err(|why| debug!(why, "no layers over the room")).ok()
}
