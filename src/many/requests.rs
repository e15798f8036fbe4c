//! What other processes ask of a batch that goes on: a file each, which the batch takes away once it has recorded the request.

use std::{fs, io};

use ralph_plan::batch::PlanName;
use ralph_state::store::paths::replace_file;

use super::BatchPaths;

/// No plan has this name.
const ALL: &str = "_all";
const CANCEL: &str = "cancel-";
const STOP: &str = "stop";

/// What another process asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// None stands for all plans.
    Cancel(Option<PlanName>),
    /// Asked again, it is to be at once.
    Stop,
}

/// Asks the batch to cancel a plan, or all of them.
///
/// # Errors
/// Whatever the file system says.
pub(crate) fn ask_to_cancel(paths: &BatchPaths, plan: Option<&PlanName>) -> io::Result<()> {
    let name = plan.map_or(ALL, |plan| &plan.0);
    replace_file(&paths.requests().join(format!("{CANCEL}{name}")), b"")
}

/// Asks the batch to stop, so that it can be resumed; asked again, to stop at once.
///
/// # Errors
/// Whatever the file system says.
pub(crate) fn ask_to_stop(paths: &BatchPaths) -> io::Result<()> {
    replace_file(&paths.requests().join(STOP), b"")
}

/// What is asked for. A request to stop is taken away at once, since two of them mean more than one.
pub(super) fn take(paths: &BatchPaths) -> Vec<Request> {
    let Ok(entries) = fs::read_dir(paths.requests()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let asked = names.filter_map(|name| match name.strip_prefix(CANCEL) {
        Some(ALL) => Some(Request::Cancel(None)),
        Some(plan) => Some(Request::Cancel(Some(PlanName(plan.to_owned())))),
        None => (name == STOP).then_some(Request::Stop),
    });
    let asked: Vec<Request> = asked.collect();
    if asked.contains(&Request::Stop) {
        forget_stop(paths);
    }
    asked
}

/// Takes a request to stop away that was meant for whoever worked on the batch before.
pub(super) fn forget_stop(paths: &BatchPaths) {
    _ = fs::remove_file(paths.requests().join(STOP)); // else it is heard again, which stops at once
}

/// Takes a request away: it was recorded, or nobody is there to record it.
pub(crate) fn done(paths: &BatchPaths, plan: Option<&PlanName>) {
    let name = plan.map_or(ALL, |plan| &plan.0);
    _ = fs::remove_file(paths.requests().join(format!("{CANCEL}{name}"))); // else it is done again, to no effect
}
