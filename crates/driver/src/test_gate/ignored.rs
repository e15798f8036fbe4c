//! Goals that fail in the room, run again with what agents have left in files that git ignores.
//!
//! A checkpoint has no built files, and tests may need them as the work has built them. Tests stand on installed packages:
//! changed ones count only if a manifest or a lock file says so. Files that only a rule of the run itself makes git ignore
//! are no built files of the project: a commit of the work would lack them.

use std::path::PathBuf;

use ralph_core::event::{Goal, Notice, Tail};
use ralph_system::diagnostics::inherited;
use tokio::task::spawn_blocking;

use super::super::{
    goals::{CheckedGoal, all_passed},
    reruns::lacks_something,
    room::{FilledRoom, IgnoredEntry},
    room_packages::{PackageLists, named},
};

/// Runs `goals` again with ignored files as they are in the project. Keeps these in the room if the goals pass, and returns
/// the results with a notice; otherwise, returns the results that there were. The work names packages in its `lists`; the
/// `objection` says why those that agents have installed do not count all the same.
pub(super) async fn with_ignored<Running: Future<Output = Vec<CheckedGoal>>>(
    mut checked: Vec<CheckedGoal>,
    filled: &FilledRoom,
    left_by_agents: impl FnOnce() -> Result<Vec<IgnoredEntry>, String> + Send + 'static,
    goals: &[Goal],
    run: impl Fn(Vec<Goal>) -> Running,
    (lists, objection): (PackageLists, Option<String>),
) -> (Vec<CheckedGoal>, Option<Notice>) {
    let shown = match lists.is_empty() {
        true => Vec::new(),
        false => {
            let filled = filled.clone();
            off_loop(move || filled.show_added_to_caches())
                .await
                .unwrap_or_default()
        }
    };
    if !shown.is_empty() {
        let results = run(goals.to_vec()).await;
        if all_passed(&results) {
            let text = format!(
                "the goals pass with what agents have added to caches: {}",
                named(&shown)
            );
            return (results, Some(Notice::info("caches-used", text)));
        }
    }
    tell_hidden(&mut checked, filled);
    let Ok(found) = off_loop(left_by_agents).await else {
        return (checked, None);
    };
    let (packages, others): (Vec<IgnoredEntry>, Vec<IgnoredEntry>) =
        found.into_iter().partition(|entry| entry.is_installed);
    let (newly, others): (Vec<IgnoredEntry>, Vec<IgnoredEntry>) =
        others.into_iter().partition(|entry| entry.is_newly_ignored);
    let (mut brought, mut notice) = (Vec::new(), None);
    for part in [others, packages, newly] {
        if part.is_empty() {
            continue;
        }
        let is_installed = part.iter().any(|entry| entry.is_installed);
        let is_newly_ignored = !is_installed && part.iter().any(|entry| entry.is_newly_ignored);
        let paths: Vec<PathBuf> = part.iter().map(|entry| entry.path.clone()).collect();
        let named = named(&paths);
        let bring = {
            let (filled, part) = (filled.clone(), part.clone());
            off_loop(move || filled.bring(&part))
        };
        let results = match bring.await {
            Ok(()) => run(goals.to_vec()).await,
            Err(_) => break,
        };
        brought.extend(part);
        if !all_passed(&results) {
            continue;
        }
        if objection.as_ref().is_none_or(|_| !is_installed) && !is_newly_ignored {
            let filled = filled.clone();
            _ = off_loop(move || filled.keep(&lists)).await; // the copies that stay aside are in nobody's way
            let text =
                format!("the goals pass with {named} as the agent left it: git ignores it, so no checkpoint has it");
            return (results, Some(Notice::info("ignored-files-used", text)));
        }
        let (tag, text) = match is_newly_ignored {
            true => (
                "newly-ignored-files",
                format!(
                    "the goals pass only with {named}, which git ignores since this run: a clone does not have it. \
                     Commit it, or let the goal build it"
                ),
            ),
            false => (
                "packages-changed",
                format!(
                    "the goals pass only with the installed packages that the agent changed in {named}: {}",
                    objection.unwrap_or_default()
                ),
            ),
        };
        for CheckedGoal { result, output, .. } in &mut checked {
            if !result.passed {
                result.tail = Tail::from(&format!("{output}\nralph: {text}\n"));
            }
        }
        notice = Some(Notice::warning(tag, text));
        break;
    }
    let filled = filled.clone();
    // The next fill of the room tries again.
    _ = off_loop(move || filled.take_back()).await;
    (checked, notice)
}

/// Tells of what goals do not see in caches where one has run no test or names a cache.
fn tell_hidden(checked: &mut [CheckedGoal], filled: &FilledRoom) {
    for CheckedGoal { result, output, .. } in checked.iter_mut().filter(|checked| !checked.result.passed) {
        let hidden = filled.hidden_in_caches((!lacks_something(result)).then_some(output));
        if !hidden.is_empty() {
            let text = "goals do not see what has changed in caches since the run began";
            *output = format!("{output}\nralph: {text}: {}\n", named(&hidden));
            result.tail = Tail::from(&*output);
        }
    }
}

pub(super) async fn off_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = spawn_blocking(inherited(work)).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}
