//! The side of a node: what a batch on another machine starts here.

use std::path::Path;

use ralph_state::store::paths::{create_private_dir, state_root};
use ralph_system::{
    os::signals,
    proc::{Starter, Supervisor},
};

use super::args::Args;
use crate::{
    error::{Failure, FailureKind},
    many,
};

/// Carries out the request of a batch on stdin.
pub(super) fn serve(args: &Args, supervisor: &Supervisor) -> Result<u8, Failure> {
    signals::survive_file_size_limit();
    let root = match &args.state_dir {
        Some(directory) => std::path::absolute(directory).map_err(|error| Failure::of(FailureKind::Failed, &error))?,
        None => state_root()?,
    };
    create_private_dir(&root)?;
    many::serve_batches(&root, supervisor)
        .map(|()| 0)
        .map_err(|error| Failure::of(FailureKind::Failed, &error))
}

/// Runs the job of `directory`, with or without a connection.
pub(super) fn keep_job(directory: &Path, supervisor: &Supervisor) -> Result<u8, Failure> {
    let starter = Starter::leave_session()
        .map_err(|error| Failure::of(FailureKind::Usage, &error).hint("`ralph many --engine ssh` starts jobs"))?;
    many::keep_job(directory, &starter, supervisor)
        .map(|()| 0)
        .map_err(|why| Failure::new(FailureKind::Failed, why))
}
