//! What other processes ask of a batch that goes on: a file each, which the batch takes away once it has recorded the request.

use std::{fs, io};

use super::BatchPaths;
use crate::{batch::PlanName, store::paths::replace_file};

/// No plan has this name.
const ALL: &str = "_all";
const CANCEL: &str = "cancel-";

/// Asks the batch to cancel a plan, or all of them.
///
/// # Errors
/// Whatever the file system says.
pub(crate) fn ask_to_cancel(paths: &BatchPaths, plan: Option<&PlanName>) -> io::Result<()> {
    let name = plan.map_or(ALL, |plan| &plan.0);
    replace_file(&paths.requests().join(format!("{CANCEL}{name}")), b"")
}

/// The plans that are to be cancelled; none stands for all. What was taken is not returned again.
pub(super) fn take(paths: &BatchPaths) -> Vec<Option<PlanName>> {
    let Ok(entries) = fs::read_dir(paths.requests()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let plans = names.filter_map(|name| Some(name.strip_prefix(CANCEL)?.to_owned()));
    plans.map(|name| (name != ALL).then_some(PlanName(name))).collect()
}

/// Takes a request away: it was recorded, or nobody is there to record it.
pub(crate) fn done(paths: &BatchPaths, plan: Option<&PlanName>) {
    let name = plan.map_or(ALL, |plan| &plan.0);
    _ = fs::remove_file(paths.requests().join(format!("{CANCEL}{name}"))); // else it is done again, to no effect
}
