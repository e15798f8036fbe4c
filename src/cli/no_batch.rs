//! In the place of `many` in a ralph without batches: what other commands have of it.

use std::ffi::OsString;

use clap::Subcommand;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};

use super::args::Args;
use crate::error::{Failure, FailureKind};

#[derive(Debug, Subcommand)]
pub(super) enum BatchCommand {}

pub(super) fn dispatch(_: &Args, command: &BatchCommand, _: &[OsString], _: &Supervisor) -> Result<u8, Failure> {
    match *command {}
}

/// Refuses `--tree`.
pub(super) fn in_tree(_: &Args, _: &str, _: &[OsString], _: &Supervisor) -> Result<u8, Failure> {
    Err(left_out("--tree"))
}

/// Refuses `ralph steer --to`.
pub(super) fn state_of_plan(_: &Args, _: &str, _: &Supervisor) -> Result<ProjectPaths, Failure> {
    Err(left_out("--to"))
}

/// Pauses nothing, since there is no batch.
pub(super) fn pause(_: &Args) -> Result<Option<u8>, Failure> {
    Ok(None)
}

fn left_out(flag: &str) -> Failure {
    let why = format!("`{flag}` is of batches, and this ralph is built without the feature `batch`");
    Failure::new(FailureKind::Usage, why)
}
