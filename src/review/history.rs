//! The checkpoints of a project's iterations in the order of time.

use ralph_core::{
    event::{Checkpoint, RunId},
    run::{Iteration, RunView},
};
use ralph_state::store::{journal::read_view, paths::ProjectPaths};

/// A run with its records.
pub(crate) struct PastRun {
    pub(crate) paths: ProjectPaths,
    pub(crate) id: RunId,
    pub(crate) view: RunView,
}

/// A checkpoint before or after an iteration.
pub(crate) struct HistoryMoment<'r> {
    pub(crate) run: &'r PastRun,
    pub(crate) iteration: &'r Iteration,
    pub(crate) is_before: bool,
    pub(crate) checkpoint: &'r Checkpoint,
}

/// The runs of a project that can be read, oldest first.
pub(crate) fn past_runs(paths: &ProjectPaths) -> Vec<PastRun> {
    let runs = paths.run_ids().into_iter().filter_map(|id| {
        Some(PastRun {
            view: read_view(paths, &id).ok()?,
            paths: paths.clone(),
            id,
        })
    });
    runs.collect()
}

/// The checkpoints of all iterations of the runs.
pub(crate) fn moments(runs: &[PastRun]) -> Vec<HistoryMoment<'_>> {
    let rows = runs
        .iter()
        .flat_map(|run| run.view.iterations.rows.iter().map(move |row| (run, row)));
    let moments = rows.flat_map(|(run, iteration)| {
        let around = [(true, &iteration.before), (false, &iteration.after)];
        around.into_iter().filter_map(move |(is_before, checkpoint)| {
            Some(HistoryMoment {
                run,
                iteration,
                is_before,
                checkpoint: checkpoint.as_ref()?,
            })
        })
    });
    moments.collect()
}
