//! Work trees: prepares the one that a run begins in, and ends its life.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::Path};

use ralph_system::proc::{Supervisor, replace_process};

use super::{args::Args, run::sources, trust};
use crate::{
    app, config,
    error::{Failure, FailureKind},
};

/// The option that names the project of the work tree, with its value.
const TREE_OF: &str = "--__tree-of=";

/// Prepares this work tree of the project at `source`, and replaces this process by one that runs `given` in it: its
/// variables hold for everything that a run starts.
pub(super) fn run(args: &Args, source: &Path, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let variables = app::prepare_tree(&place, &loaded.config, source, supervisor)?;
    let is_other = |word: &&OsString| !word.as_bytes().starts_with(TREE_OF.as_bytes());
    let rest: Vec<OsString> = given.iter().skip(1).filter(is_other).cloned().collect();
    // The new process does not know the helpers of this one.
    supervisor.leave();
    let error = replace_process(rest, variables);
    Err(Failure::of(FailureKind::Failed, &error))
}

/// Runs the commands that end the life of this work tree.
pub(super) fn tear_down(args: &Args, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let loaded = config::load(&sources(args, &place))?;
    app::tear_down_tree(&place, &loaded.config, supervisor)?;
    Ok(0)
}
