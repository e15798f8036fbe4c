//! Commits what an iteration left uncommitted, if the settings say so.
//!
//! Files that had uncommitted changes before the first iteration of this process are the user's, and stay as they are.
//! They are listed in the run's directory, so that the iteration of a ralph that was killed is committed without them
//! as well.

use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use ralph_core::{
    event::{IterationCommit, Notice, PlanSnapshot, RunId},
    notices::first_named,
};
use ralph_git::{CommitResult, Repository};
use ralph_system::{files, paths::replace_file};
use ralph_text::with_causes;
use ralph_words::iteration_commit_message;

/// Most bytes that are read of the list of the user's files.
const LIST_CAP_BYTES: u64 = 64 << 20;
/// Files of the user's that are named when the agent has changed them; the rest is counted.
const MOST_NAMED: usize = 5;

/// Commits the work of the iterations of a run.
#[derive(Debug)]
pub(super) struct IterationCommits {
    /// The list of the user's files.
    list: PathBuf,
    state: Mutex<CommitState>,
}

#[derive(Debug, Default)]
struct CommitState {
    /// The user's files, relative to the repository's root; `None` if they are not known, so that nothing is committed.
    users: Option<BTreeSet<PathBuf>>,
    /// The plan before the iteration; `None` if another process has begun it.
    plan: Option<PlanSnapshot>,
    /// Texts of the notices so far; each is sent once.
    told: BTreeSet<String>,
}

/// The iteration to commit.
pub(super) struct CommitSubject<'a> {
    pub(super) run: &'a RunId,
    pub(super) iteration: u32,
    /// The task that the iteration worked on.
    pub(super) task: Option<&'a str>,
    /// The plan as it was known before the result was examined.
    pub(super) plan: &'a PlanSnapshot,
    /// The plan now; `None` if it cannot be read.
    pub(super) plan_now: Option<&'a PlanSnapshot>,
}

impl IterationCommits {
    pub(super) fn new(list: PathBuf) -> Self {
        Self {
            list,
            state: Mutex::default(),
        }
    }

    /// Notes the plan before an iteration, and the user's files before the first one of this process.
    pub(super) fn begin(&self, repository: &Repository, plan: &PlanSnapshot, notices: &mut Vec<Notice>) {
        let mut state = self.state.lock();
        state.plan = Some(plan.clone());
        if state.users.as_ref().is_some_and(BTreeSet::is_empty) {
            return;
        }
        let users = state.users.take();
        let found = repository.uncommitted().map_err(|error| with_causes(&error));
        let kept = found.and_then(|mut found| {
            // Files that have been committed meanwhile are the user's no longer.
            found.retain(|path| users.as_ref().is_none_or(|users| users.contains(path)));
            match replace_file(&self.list, &listed(&found)) {
                Ok(()) => Ok(found),
                Err(error) => Err(format!("{}: {error}", self.list.display())),
            }
        });
        match kept {
            Ok(found) => state.users = Some(found),
            Err(why) => state.tell(
                format!("The iteration will not be committed, because your own changes are not known: {why}."),
                notices,
            ),
        }
    }

    /// Commits what the iteration left uncommitted.
    pub(super) fn commit(
        &self,
        repository: &Repository,
        subject: &CommitSubject,
        notices: &mut Vec<Notice>,
    ) -> Option<IterationCommit> {
        let mut state = self.state.lock();
        if state.users.is_none() && state.plan.is_none() {
            state.users = read_list(&self.list);
        }
        let users = state.users.as_ref()?;
        let before = state.plan.as_ref().unwrap_or(subject.plan);
        let ticked = subject.plan_now.map(|now| ralph_plan::diff(before, now).ticked);
        let ticked = ticked.unwrap_or_default();
        let message = iteration_commit_message(&ticked, subject.task, subject.iteration, subject.run);
        let why = match repository.commit_uncommitted(users, &message) {
            Ok(CommitResult::Made(made)) => return Some(made),
            Ok(CommitResult::Nothing) => return None,
            Ok(CommitResult::Hindered(hindrance)) => hindrance.to_string(),
            Err(error) => with_causes(&error),
        };
        state.tell(
            format!("What the agent left is not committed: {why}. The next iteration tries again."),
            notices,
        );
        None
    }

    /// Says once of each of the user's files that the agent has changed it as well.
    pub(super) fn tell_mixed(&self, changed: impl FnOnce() -> Vec<String>, notices: &mut Vec<Notice>) {
        let mut state = self.state.lock();
        let Some(users) = state.users.as_ref().filter(|users| !users.is_empty()) else {
            return;
        };
        let changed = changed();
        let mixed = changed.iter().filter(|name| users.contains(Path::new(name)));
        let mixed: Vec<String> = mixed.filter(|name| !state.told.contains(*name)).cloned().collect();
        if mixed.is_empty() {
            return;
        }
        let names = first_named(mixed.iter(), MOST_NAMED, ", ");
        let had = "had changes of your own before the run and the agent has changed more";
        let text = format!("Left uncommitted, as it {had}: {names}.");
        notices.push(Notice::warning("left-uncommitted", text));
        state.told.extend(mixed);
    }
}

impl CommitState {
    fn tell(&mut self, text: String, notices: &mut Vec<Notice>) {
        if self.told.insert(text.clone()) {
            notices.push(Notice::warning("not-committed", text));
        }
    }
}

fn listed(paths: &BTreeSet<PathBuf>) -> Vec<u8> {
    let ended = paths.iter().map(|path| [path.as_os_str().as_bytes(), b"\0"].concat());
    ended.collect::<Vec<_>>().concat()
}

/// Reads the list that an earlier process has written; `None` without one.
fn read_list(list: &Path) -> Option<BTreeSet<PathBuf>> {
    let bytes = files::read_bytes(list, LIST_CAP_BYTES).ok()?;
    let paths = bytes.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Some(
        paths
            .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
            .collect(),
    )
}
