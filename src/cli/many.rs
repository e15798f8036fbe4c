//! The commands of batches: `ralph many`, `ralph take` and `ralph engines`.

mod batch_settings;
mod board;
mod change;
mod clean;
mod command;
mod engines;
mod flags;
mod last_batch;
mod report;
mod take;

use std::ffi::OsString;

use ralph_system::proc::Supervisor;

use super::args::Args;
use crate::error::Failure;

pub(super) use change::{pause, state_of_plan};
pub(super) use command::in_tree;
pub(super) use flags::BatchCommand;

/// Carries out a command. `given` is the whole command line.
pub(super) fn dispatch(
    args: &Args,
    command: &BatchCommand,
    given: &[OsString],
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    match command {
        BatchCommand::Many(many) => command::run(args, many, given, supervisor),
        BatchCommand::Take(take) => take::run(args, take, given, supervisor),
        BatchCommand::Engines { id } => engines::run(args, id.as_deref()),
    }
}
