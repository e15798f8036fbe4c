//! The batch of the project that began last, and its plans.

use std::time::Duration;

use ralph_plan::batch::{Batch, BatchId, PlanName};

use crate::{
    app::{self, ProjectPlace},
    error::Failure,
    many::{self, BatchError, BatchPaths},
};

/// Time a batch has to act on a request.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The batch of the project that began last.
pub(super) fn last(place: &ProjectPlace) -> Result<(BatchId, Batch), Failure> {
    let id = many::latest(&place.paths).ok_or(BatchError::NoBatch)?;
    let paths = BatchPaths::new(&place.paths, &id);
    let records = many::read(&paths.journal()).map_err(BatchError::Journal)?;
    let batch = Batch::from_records(&records).ok_or(BatchError::NoBatch)?;
    Ok((id, batch))
}

/// Finds a plan of the batch by its name or file.
pub(super) fn named(batch: &Batch, plan: &str) -> Result<PlanName, Failure> {
    let known: Vec<_> = batch
        .plans
        .iter()
        .map(|plan| (plan.name.clone(), plan.file.clone()))
        .collect();
    app::named_plan(&known, plan)
}
