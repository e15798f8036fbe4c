//! Requests of other processes to a running batch: one file each, which the batch removes once it has
//! recorded the request.

use std::{fs, io, path::PathBuf};

use ralph_plan::batch::{BatchChanges, PlanName};
use ralph_system::{files::read_bytes, os::now_ms, paths::replace_file};

use super::BatchPaths;

/// Stands for all plans; no plan has this name.
const ALL: &str = "_all";
const CANCEL: &str = "cancel-";
const STOP: &str = "stop";
const CHANGE: &str = "change-";
/// Most bytes of a change.
const CHANGE_CAP_BYTES: u64 = 1 << 20;

/// A request from another process.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BatchRequest {
    /// Cancels a plan; `None` stands for all plans.
    Cancel(Option<PlanName>),
    /// Changes the batch.
    Change { file: String, changes: BatchChanges },
    /// Stops the batch; a second request stops it immediately.
    Stop,
}

/// Asks the batch for changes. Returns the file of the request.
///
/// # Errors
/// The error of the file system.
pub fn ask_to_change(paths: &BatchPaths, changes: &BatchChanges) -> io::Result<PathBuf> {
    // Requests are taken in the order of their names.
    let name = format!("{CHANGE}{:020}-{}", now_ms(), std::process::id());
    let file = paths.requests().join(name);
    replace_file(&file, &serde_json::to_vec(changes)?)?;
    Ok(file)
}

/// Asks the batch to cancel a plan, or all of them.
///
/// # Errors
/// The error of the file system.
pub fn ask_to_cancel(paths: &BatchPaths, plan: Option<&PlanName>) -> io::Result<()> {
    let name = plan.map_or(ALL, |plan| &plan.0);
    replace_file(&paths.requests().join(format!("{CANCEL}{name}")), b"")
}

/// Asks the batch to stop, so that it can be resumed; a second request stops it immediately.
///
/// # Errors
/// The error of the file system.
pub fn ask_to_stop(paths: &BatchPaths) -> io::Result<()> {
    replace_file(&paths.requests().join(STOP), b"")
}

/// Returns the pending requests. A request to stop is removed at once, since a second one means something
/// else.
pub(super) fn take(paths: &BatchPaths) -> Vec<BatchRequest> {
    let Ok(entries) = fs::read_dir(paths.requests()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let asked = names.into_iter().filter_map(|name| match name.strip_prefix(CANCEL) {
        Some(ALL) => Some(BatchRequest::Cancel(None)),
        Some(plan) => Some(BatchRequest::Cancel(Some(PlanName(plan.to_owned())))),
        None if name.starts_with(CHANGE) => {
            let bytes = read_bytes(&paths.requests().join(&name), CHANGE_CAP_BYTES).ok()?;
            let changes = serde_json::from_slice(&bytes).ok()?;
            Some(BatchRequest::Change { file: name, changes })
        }
        None => (name == STOP).then_some(BatchRequest::Stop),
    });
    let asked: Vec<BatchRequest> = asked.collect();
    if asked.contains(&BatchRequest::Stop) {
        forget_stop(paths);
    }
    asked
}

/// Removes a request to stop that was meant for an earlier process of the batch.
pub(super) fn forget_stop(paths: &BatchPaths) {
    _ = fs::remove_file(paths.requests().join(STOP)); // otherwise it is heard twice, which stops immediately
}

/// Removes a request for changes that was recorded.
pub(super) fn changed(paths: &BatchPaths, file: &str) {
    _ = fs::remove_file(paths.requests().join(file)); // otherwise it is repeated: plans are added once, values stay
}

/// Removes a request to cancel that was recorded, or that no batch can record.
pub fn done(paths: &BatchPaths, plan: Option<&PlanName>) {
    let name = plan.map_or(ALL, |plan| &plan.0);
    _ = fs::remove_file(paths.requests().join(format!("{CANCEL}{name}"))); // otherwise it is repeated, without effect
}
