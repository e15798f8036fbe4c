//! In the place of `many` in a ralph without batches.

use std::{io, path::Path};

use ralph_core::event::{Goal, GoalResult};
use ralph_driver::ExecutionContext;
use ralph_system::proc::Supervisor;

use super::ProjectPlace;
use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

pub(crate) fn forge_answer(_: &ProjectPlace, _: &Supervisor) -> Result<String, Failure> {
    let why = "this ralph is built without the feature `batch`, which knows forges";
    Err(Failure::new(FailureKind::Failed, why))
}

pub(super) fn prune_batches(_: &ProjectPlace, _: &Config, _: &Supervisor) -> Vec<String> {
    Vec::new()
}

pub(super) async fn check_merged(_: &Path, _: Vec<Goal>, _: bool, _: ExecutionContext) -> io::Result<Vec<GoalResult>> {
    Err(io::Error::other("this ralph is built without the feature `batch`"))
}
