//! Makes checkpoints: one scan for what differs, then only those files are read.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
};

use super::{
    GitError, Moment, Repository, Taken,
    index::{Copied, Identity},
    process::Git,
    status::{self, Status},
};
use crate::event::{Checkpoint, RunId};

/// What is known from the checkpoint before.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The user's index that ralph's was copied from.
    pub(super) origin: Option<Identity>,
    /// The checkpoint that ralph's index holds; none when that is not known.
    pub(super) last: Option<Checkpoint>,
    /// What the user was told, once each.
    told: HashSet<String>,
}

impl Repository {
    /// Records the work tree as it is under `refs/ralph/<run>/<n>-before` or `-after`.
    ///
    /// All tracked and untracked files are in it, ignored ones are not. Only the object database, that reference and
    /// ralph's own index are written.
    ///
    /// # Errors
    /// [`GitError`]; nothing of the user's has changed then either.
    pub fn checkpoint(&self, run: &RunId, n: u32, moment: Moment) -> Result<Taken, GitError> {
        self.checkpoint_as(
            &reference(run, n, moment),
            &format!("ralph {run}: {moment} iteration {n}"),
        )
    }

    /// Records an earlier checkpoint under another name, for a work tree in which nothing happened since.
    pub fn repeat(&self, checkpoint: &Checkpoint, run: &RunId, n: u32, moment: Moment) -> Result<(), GitError> {
        self.set_reference(&reference(run, n, moment), &checkpoint.commit)
    }

    pub(super) fn checkpoint_as(&self, reference: &str, message: &str) -> Result<Taken, GitError> {
        let mut state = self.lock();
        let taken = self.take(&mut state, reference, message);
        if taken.is_err() {
            // A process that was killed may have left a lock; the next checkpoint starts from the user's index.
            state.origin = None;
            state.last = None;
            _ = self.forget_index(); // the error before this one says more
        }
        taken
    }

    fn take(&self, state: &mut State, reference: &str, message: &str) -> Result<Taken, GitError> {
        let copied = self.follow_index(state)?;
        let (mut status, mut warnings) = self.scan()?;
        if copied == Copied::No && status.changes_ignoring() {
            // ralph's index goes on holding what is ignored from now on; the user's has never held it.
            state.origin = None;
            self.follow_index(state)?;
            (status, warnings) = self.scan()?;
        }
        let head = status.head.clone();
        let mut work = self.sort(status)?;
        work.notices.extend(warnings);
        let same = work.add.is_empty() && work.remove.is_empty();
        let last = state.last.take().filter(|_| same);
        self.update_index(&mut work)?;
        let checkpoint = match last {
            Some(last) if last.head == head => last,
            last => self.commit(last.map(|last| last.tree), head, message)?,
        };
        self.set_reference(reference, &checkpoint.commit)?;
        state.last = Some(checkpoint.clone());
        let notices = work
            .notices
            .into_iter()
            .filter(|notice| state.told.insert(notice.clone()))
            .collect();
        Ok(Taken { checkpoint, notices })
    }

    /// Compares the work tree with ralph's index; returns what git warned of as well.
    pub(super) fn scan(&self) -> Result<(Status, Vec<String>), GitError> {
        let args = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ];
        let git = self
            .own_index_git()
            .args(args)
            .args(["--ignore-submodules=dirty", "--no-ahead-behind"]);
        // The lock is that of ralph's own index, where what was learnt about unchanged files is kept.
        let output = git.env("GIT_OPTIONAL_LOCKS", "1").run()?;
        let status = status::parse(&output.stdout).ok_or_else(|| output.unexpected())?;
        let lines = output.stderr.lines().filter(|line| !line.is_empty());
        Ok((status, lines.map(|line| format!("git: {line}.")).collect()))
    }

    /// Writes a commit of `tree`, or else of what the index holds.
    fn commit(&self, tree: Option<String>, head: Option<String>, message: &str) -> Result<Checkpoint, GitError> {
        let tree = match tree {
            Some(tree) => tree,
            None => self.own_index_git().args(["write-tree"]).run()?.line()?,
        };
        let mut git = self.git().args(["commit-tree", "--no-gpg-sign", "-m", message, &tree]);
        for person in ["AUTHOR", "COMMITTER"] {
            git = git
                .env(&format!("GIT_{person}_NAME"), "ralph")
                .env(&format!("GIT_{person}_EMAIL"), "ralph@localhost");
        }
        if let Some(head) = &head {
            git = git.args(["-p", head]);
        }
        Ok(Checkpoint {
            commit: git.run()?.line()?,
            tree,
            head,
        })
    }

    fn set_reference(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        self.git().args(["update-ref", reference, commit]).run().map(drop)
    }

    /// A git command on this repository alone: were it deleted, the one around it must not be taken for it.
    pub(super) fn git(&self) -> Git {
        let git = Git::at(&self.root).deadline(self.deadline);
        git.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.root)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is forgotten with each error, so one that a panic left behind is at worst stale.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of an iteration's checkpoint.
pub(super) fn reference(run: &RunId, n: u32, moment: Moment) -> String {
    format!("refs/ralph/{run}/{n}-{moment}")
}
