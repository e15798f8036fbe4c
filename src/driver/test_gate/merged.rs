//! The goals of a merged tree, and trials with tests that were kept of it elsewhere.

use super::{
    Arc, Goal, GoalResult, InPlace, Originals, Path, PathBuf, Place, TestGate, Trial, blocking, check_all, results,
    untried, with_causes, with_originals,
};

/// Runs the goals, and if they pass once more with the tests of each of `stores` that the tree has otherwise. `record` is what is
/// written ahead of a trial.
///
/// Returns the results, and a trial for each store with differences.
pub async fn check_merged(
    goals: Vec<Goal>,
    parallel: bool,
    place: Place,
    stores: Vec<PathBuf>,
    record: &Path,
) -> (Vec<GoalResult>, Vec<(PathBuf, Trial)>) {
    let place = Arc::new(place);
    let checked = check_all(goals.clone(), parallel, Arc::clone(&place)).await;
    let found = results(&checked);
    let mut trials = Vec::new();
    if found.iter().all(|result| result.passed) {
        for store in stores {
            let gate = Arc::new(TestGate {
                runners: place.runners,
                guard: None,
                project: place.project.clone(),
                store,
                record: record.to_owned(),
            });
            if let Some(trial) = tried(goals.clone(), parallel, &place, &gate).await {
                trials.push((gate.store.clone(), trial));
            }
        }
    }
    (found, trials)
}

/// Runs the goals with the tests of a store in place; none where the tree has these, or nothing was kept.
async fn tried(goals: Vec<Goal>, parallel: bool, place: &Arc<Place>, gate: &Arc<TestGate>) -> Option<Trial> {
    let found = {
        let gate = Arc::clone(gate);
        blocking(move || {
            let kept = Originals::load(&gate.store)?;
            kept.map(|kept| Ok((kept.changes(&gate.project)?, kept))).transpose()
        })
    };
    let (changes, originals) = match found.await {
        Ok(found) => found.filter(|(changes, _)| !changes.is_empty())?,
        Err(error) => return Some(untried(Vec::new(), &error)),
    };
    let originals = Arc::new(originals);
    let in_place = {
        let (gate, originals) = (Arc::clone(gate), Arc::clone(&originals));
        blocking(move || InPlace::begin(&originals, &gate.project, &gate.record))
    };
    let in_place = match in_place.await {
        Ok(in_place) => in_place,
        Err(error) => return Some(untried(changes, &error)),
    };
    let (checked, held) = with_originals(in_place, goals, parallel, place, gate, &originals).await;
    let problem = match held {
        Ok(held) => {
            let refused = held.refused();
            let ended = blocking(move || held.end()).await;
            refused.or_else(|| ended.err().map(|error| with_causes(&error)))
        }
        Err(error) => Some(with_causes(&error)),
    };
    Some(Trial {
        changes,
        results: results(&checked),
        problem,
    })
}
