//! The goals of a merged tree, and trials with tests that were kept of it elsewhere.

use super::{
    Arc, ExecutionContext, Goal, GoalResult, GuardError, GuardedChange, InPlace, Originals, Path, PathBuf, Trial,
    blocking, check_for_claim, results, untried, with_causes, with_originals,
};

/// Runs the goals. If they pass, runs them once more with the tests of each of `stores` that differ from the tree's. `record` is
/// the directory of the trial's record.
///
/// Returns the results, and a trial for each store with differences.
pub async fn check_merged(
    goals: Vec<Goal>,
    parallel: bool,
    place: ExecutionContext,
    stores: Vec<PathBuf>,
    record: &Path,
) -> (Vec<GoalResult>, Vec<(PathBuf, Trial)>) {
    let place = Arc::new(place);
    // The goals run code of the work, which may change its tests before they are compared.
    let mut differing = Vec::new();
    for store in stores {
        let found = differences(&place.project, &store).await;
        differing.extend(found.transpose().map(|found| (store, found)));
    }
    let checked = check_for_claim(goals.clone(), parallel, Arc::clone(&place)).await;
    let found = results(&checked);
    let mut trials = Vec::new();
    if found.iter().all(|result| result.passed) {
        for (store, found) in differing {
            let trial = match found {
                Ok(found) => tried(goals.clone(), parallel, &place, found, record).await,
                Err(error) => untried(Vec::new(), &error),
            };
            trials.push((store, trial));
        }
    }
    (found, trials)
}

/// The tests of a store, with the changes since.
type Differences = (Originals, Vec<GuardedChange>);

/// Compares the tests of a store with the tree's. Returns `None` if the store is empty or equal to the tree.
async fn differences(project: &Path, store: &Path) -> Result<Option<Differences>, GuardError> {
    let (project, store) = (project.to_owned(), store.to_owned());
    let found = blocking(move || {
        let kept = Originals::load(&store)?;
        kept.map(|kept| Ok((kept.changes(&project)?, kept))).transpose()
    });
    let found = found.await?.filter(|(changes, _)| !changes.is_empty());
    Ok(found.map(|(changes, kept)| (kept, changes)))
}

/// Runs the goals with the tests of a store in place.
async fn tried(
    goals: Vec<Goal>,
    parallel: bool,
    place: &Arc<ExecutionContext>,
    (originals, changes): Differences,
    record: &Path,
) -> Trial {
    let project = &place.project;
    let originals = Arc::new(originals);
    let in_place = match InPlace::begin(&originals, project, record).await {
        Ok(in_place) => in_place,
        Err(error) => return untried(changes, &error),
    };
    let run = |goals| check_for_claim(goals, parallel, Arc::clone(place));
    let (checked, held) = with_originals(&in_place, goals, run, project, &originals).await;
    let refused = in_place.refused();
    let ended = match held {
        Ok(_) => in_place.end().await,
        Err(error) => Err(error),
    };
    let problem = refused.or_else(|| ended.err().map(|error| with_causes(&error)));
    Trial {
        changes: changes.into(),
        results: results(&checked),
        problem: problem.map(Into::into),
    }
}
