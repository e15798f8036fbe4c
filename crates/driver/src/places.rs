//! The things that a session leaves behind beside the files of the project: the repository, and the state of git in it.

use std::path::{Path, PathBuf};

use ralph_core::event::{Changes, Checkpoint, HeadPlace, Leftover, List, LostRepository, Notice, StashEntry, Text};
use ralph_git::{FoundLock, GitWorks, LockRemoval, NewCheckpoint, Repository, Stash, StashLog};
use ralph_system::proc::LeftProcess;
use ralph_text::one_line;
use ralph_words::{head_in_words, locks_in_words, stashes_in_words};
use tracing::info;

/// Most processes that are named.
const NAMED: usize = 10;

/// Returns what became of the repository, if it is no longer there after the iteration; `known` are the
/// checkpoint before it and the first one.
pub(super) fn lost(
    repository: Option<&Repository>,
    known: &[&Checkpoint],
    made: Option<&Checkpoint>,
    counted: Option<Changes>,
) -> Option<Box<LostRepository>> {
    let works = match (made, known.first(), counted) {
        (Some(_), None, _) | (Some(_), _, Some(_)) => GitWorks::Yes,
        (None, ..) | (Some(_), Some(_), None) => GitWorks::Doubtful,
    };
    repository?.lost(known, works).map(Box::new)
}

/// Returns what became of the repository, if it is no longer there when an iteration is prepared and has no checkpoint.
pub(super) fn lost_before(repository: Option<&Repository>, known: &[Checkpoint]) -> Option<Box<LostRepository>> {
    let known: Vec<&Checkpoint> = known.iter().collect();
    repository?.lost(&known, GitWorks::Doubtful).map(Box::new)
}

/// Tells of the processes that the session left running, without helpers of the agent itself.
pub(super) fn processes_ended(left: Vec<LeftProcess>) -> Option<(Leftover, Notice)> {
    let left = left
        .into_iter()
        .filter(|process| !process.is_helper && !process.is_below && !is_gits_own(&process.command));
    let (names, commands): (Vec<String>, Vec<String>) =
        left.map(|process| (process.name, one_line(&process.command))).unzip();
    if names.is_empty() {
        return None;
    }
    info!(count = names.len(), programs = ?names, "ended processes that the session left");
    let count = match commands.len() {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    let rest = if commands.len() > NAMED { ", …" } else { "" };
    let text = format!(
        "ended {count} that the session left: {}{rest}; work that outlives a session is started as a background task \
         (`ralph tasks start -- COMMAND`)",
        commands[..commands.len().min(NAMED)].join(", ")
    );
    let notice = Notice::warning("processes-ended", text).with("commands", commands.join("\n"));
    Some((Leftover::Processes, notice))
}

/// Whether git itself starts such a process and leaves it: a commit tidies the repository in the background.
fn is_gits_own(command: &str) -> bool {
    let mut words = command.split(' ');
    let is_git = words.next().is_some_and(|program| Path::new(program).ends_with("git"));
    is_git
        && match words.next() {
            Some("fsmonitor--daemon" | "credential-cache--daemon") => true,
            Some("maintenance" | "gc") => words.any(|word| word == "--auto"),
            Some(_) | None => false,
        }
}

/// The locks and stashes of a repository before an iteration.
#[derive(Debug, Default)]
pub(super) struct Leavings {
    locks: Vec<FoundLock>,
    stashes: Vec<Stash>,
    /// If other work trees have the same stashes: two plans that each make and take one may have taken each other's.
    stash_log: Option<StashLog>,
}

impl Leavings {
    /// Looks before a session.
    pub(super) fn before(repository: &Repository) -> Self {
        Leavings {
            locks: repository.lock_files(),
            stashes: repository.stashes(),
            stash_log: repository.shares_stashes().then(|| repository.stash_log()),
        }
    }

    /// Tells what a session has left, and removes its locks: all of its processes have ended.
    pub(super) fn left(&self, repository: &Repository) -> Vec<(Leftover, Notice)> {
        let left = [self.locks_left(repository), self.stashes_changed(repository)];
        left.into_iter().flatten().collect()
    }

    fn locks_left(&self, repository: &Repository) -> Option<(Leftover, Notice)> {
        let mut found = repository.lock_files();
        found.retain(|lock| !self.locks.contains(lock));
        if found.is_empty() {
            return None;
        }
        let is_removed = |lock: &FoundLock| repository.remove_lock(lock) == LockRemoval::Removed;
        let (removed, kept): (Vec<FoundLock>, Vec<FoundLock>) = found.into_iter().partition(is_removed);
        let paths = |locks: Vec<FoundLock>| {
            let shown = |lock: FoundLock| {
                let below = lock.path.strip_prefix(repository.root()).map(Path::to_owned);
                below.unwrap_or(lock.path)
            };
            locks.into_iter().take(NAMED).map(shown).collect()
        };
        let (removed, kept): (Vec<PathBuf>, Vec<PathBuf>) = (paths(removed), paths(kept));
        let text = locks_in_words(&removed, &kept);
        Some((Leftover::Locks, Notice::warning("locks-left", text)))
    }

    fn stashes_changed(&self, repository: &Repository) -> Option<(Leftover, Notice)> {
        let now = repository.stashes();
        let entries = |stashes: &[Stash], others: &[Stash]| -> List<StashEntry, 10> {
            let new = stashes
                .iter()
                .filter(|stash| !others.iter().any(|other| other.commit == stash.commit));
            let entry = |stash: &Stash| StashEntry {
                commit: (&stash.commit).into(),
                message: (&stash.message).into(),
            };
            new.map(entry).collect()
        };
        let (made, gone) = (entries(&now, &self.stashes), entries(&self.stashes, &now));
        let shared = repository.shares_stashes();
        let earlier = self.stash_log.as_ref();
        let is_used = earlier.is_some_and(|earlier| repository.stash_log().is_used_since(earlier));
        (!made.is_empty() || !gone.is_empty() || is_used).then(|| {
            let notice = Notice::warning("stashes-changed", stashes_in_words(&made, &gone, shared));
            (Leftover::Stashes { made, gone }, notice)
        })
    }
}

/// Tells where HEAD is, once for each place.
#[derive(Debug, Default)]
pub(super) struct HeadWatch {
    /// The branch that was checked out when the run began, or none; `None` before the first look.
    begun_on: Option<Option<Text>>,
    /// The place that was told last; `None` while HEAD is as it was.
    told: Option<HeadPlace>,
    /// The last commit that HEAD was at while it was detached.
    loose: Option<String>,
}

impl HeadWatch {
    /// Continues from what an earlier process has told of the run.
    pub(super) fn resuming(told: Option<&HeadPlace>) -> Self {
        HeadWatch {
            begun_on: told.map(|place| place.begun_on.clone()),
            told: told.cloned(),
            loose: told.and_then(|place| place.tip.as_ref()).map(ToString::to_string),
        }
    }

    /// Looks at HEAD as a checkpoint has found it. Returns a notice if its branch is another than at the last look, or if
    /// there are commits on no branch for the first time.
    pub(super) fn look(&mut self, repository: &Repository, taken: &NewCheckpoint) -> Option<(Leftover, Notice)> {
        let branch: Option<Text> = taken.branch.as_ref().map(Into::into);
        let begun_on = self.begun_on.get_or_insert_with(|| branch.clone()).clone();
        if branch.is_none() {
            self.loose.clone_from(&taken.checkpoint.head);
        }
        // A commit that is gone is on no branch either, and cannot be kept.
        let tip = self.loose.take();
        let found = tip
            .as_ref()
            .and_then(|tip| repository.loose_commits(tip).ok().flatten());
        let mut place = HeadPlace {
            branch,
            begun_on,
            operation: repository.operation().map(Into::into),
            ..HeadPlace::default()
        };
        if let Some(found) = found {
            place.more = (found.count - found.named.len()) as u64;
            place.loose = found.named.into_iter().map(Into::into).collect();
            place.tip = tip.as_ref().map(Into::into);
            self.loose = tip;
        }
        let place_of = |place: &HeadPlace| (place.branch.clone(), place.tip.is_some(), place.operation.clone());
        let told = self.told.as_ref().map(place_of);
        let is_new = match &told {
            Some(told) => *told != place_of(&place),
            None => !place.is_as_begun(),
        };
        self.told = (!place.is_as_begun()).then(|| place.clone());
        is_new.then(|| {
            let text = head_in_words(&place);
            let notice = match place.is_as_begun() {
                true => Notice::info("head-placed", text),
                false => Notice::warning("head-placed", text),
            };
            let place = Box::new(place);
            (Leftover::Head { place }, notice)
        })
    }
}
