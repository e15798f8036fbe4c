//! The batch of the project that began last, and its plans.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use ralph_many::{BatchError, BatchPaths};
use ralph_plan::batch::{Batch, BatchId, PlanName};

use crate::{
    app::{self, ProjectPlace},
    error::{Failure, FailureKind},
};

/// Time a batch has to act on a request.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The batch of the project that began last.
pub(in crate::cli) fn last(place: &ProjectPlace) -> Result<(BatchId, Batch), Failure> {
    let id = ralph_many::latest(&place.paths).ok_or(BatchError::NoBatch)?;
    let paths = BatchPaths::new(&place.paths, &id);
    let records = ralph_many::read(&paths.journal()).map_err(BatchError::Journal)?;
    let batch = Batch::from_records(&records).ok_or(BatchError::NoBatch)?;
    Ok((id, batch))
}

/// Waits until the running batch has acted on a request, so that `is_done`. If it does not, the request is withdrawn by
/// `take_back`: a batch that is resumed later would still carry it out.
///
/// # Errors
/// A [`Failure`] if the batch does not act in time.
pub(super) fn wait_until_done(
    place: &ProjectPlace,
    is_done: impl Fn(&Batch) -> bool,
    take_back: impl FnOnce(),
) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !is_done(&last(place)?.1) {
        if Instant::now() >= deadline {
            take_back();
            let why = "the batch has not acted on the request yet";
            return Err(Failure::new(FailureKind::Failed, why).hint("`ralph many status` shows its state"));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Returns the failure to send the batch a request.
pub(super) fn unsent(error: &io::Error) -> Failure {
    let what = format!("the request cannot be sent to the batch: {error}");
    Failure::new(FailureKind::Failed, what)
}

/// Finds a plan of the batch by its name or file.
pub(super) fn named(batch: &Batch, plan: &str) -> Result<PlanName, Failure> {
    let known: Vec<_> = batch
        .plans
        .iter()
        .map(|plan| (plan.name.clone(), plan.file.clone()))
        .collect();
    app::many::named_plan(&known, plan)
}
