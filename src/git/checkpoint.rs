//! Makes checkpoints: one scan for what differs, then only those files are read.

use std::{
    collections::HashSet,
    mem,
    path::PathBuf,
    sync::{MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use super::{
    Counted, GitError, Moment, Repository, Taken,
    changes::Point,
    index::{Copied, Identity, When},
    layout::Mark,
    process::Git,
};
use crate::event::{Checkpoint, RunId};

/// What is known from the checkpoint before.
#[derive(Debug)]
pub(super) struct State {
    /// The repository's directories.
    marks: [Mark; 2],
    /// The latest reference that was set, and its commit: what tells this repository from all others.
    kept: Option<(String, String)>,
    /// The user's index that ralph's was brought up to; none while ralph's holds nothing.
    pub(super) origin: Option<Identity>,
    /// Tracked files that are not to be in the work tree, and are not.
    pub(super) absent: Vec<PathBuf>,
    /// The checkpoint that ralph's index holds; none when that is not known.
    pub(super) last: Option<Checkpoint>,
    /// A repeated checkpoint that gets its second name.
    naming: Option<JoinHandle<Result<(), GitError>>>,
    /// What the user has to be told with the next checkpoint.
    untold: Vec<String>,
    /// What the user was told, once each.
    told: HashSet<String>,
}

impl State {
    pub(super) fn of(marks: [Mark; 2]) -> State {
        State {
            marks,
            kept: None,
            origin: None,
            absent: Vec::new(),
            last: None,
            naming: None,
            untold: Vec::new(),
            told: HashSet::new(),
        }
    }

    /// Keeps a sentence for the user until the next checkpoint.
    pub(super) fn tell(&mut self, notice: String) {
        self.untold.push(notice);
    }

    /// Waits until a repeated checkpoint has its second name.
    pub(super) fn finish_naming(&mut self) {
        let Some(naming) = self.naming.take() else { return };
        if let Err(error) = naming.join().expect("naming does not panic") {
            self.untold.push(format!(
                "A checkpoint is kept under one of its two names only: {error}."
            ));
        }
    }
}

/// What a checkpoint is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) reference: &'a str,
    pub(super) message: &'a str,
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
        self.checkpoint_since(run, n, moment, &[]).map(|(taken, _)| taken)
    }

    /// Does the same and counts the changes since each of some earlier checkpoints, as [`Repository::changes`] does:
    /// they are known before the checkpoint is a commit, so both are done at once.
    ///
    /// # Errors
    /// [`GitError`] as [`Repository::checkpoint`]; the inner one as [`Repository::changes`].
    pub fn checkpoint_since(
        &self,
        run: &RunId,
        n: u32,
        moment: Moment,
        since: &[&Checkpoint],
    ) -> Result<(Taken, Counted), GitError> {
        let name = Name {
            reference: &reference(run, n, moment),
            message: &format!("ralph {run}: {moment} iteration {n}"),
        };
        self.checkpoint_as(name, since)
    }

    /// Records an earlier checkpoint under another name, for a work tree in which nothing happened since.
    ///
    /// Returns at once: that commit is kept under its first name, so nobody has to wait for the second. What goes wrong
    /// becomes a notice of the next checkpoint.
    pub fn repeat(&self, checkpoint: &Checkpoint, run: &RunId, n: u32, moment: Moment) {
        let name = reference(run, n, moment);
        let git = self.git().args(["update-ref", &name, &checkpoint.commit]);
        let mut state = self.lock();
        state.finish_naming();
        if let Err(error) = self.verify(&mut state) {
            state.tell(format!("No checkpoint {moment} iteration {n}: {error}."));
            return;
        }
        // Without a thread it keeps its first name alone.
        state.naming = thread::Builder::new().spawn(move || git.run().map(drop)).ok();
    }

    pub(super) fn checkpoint_as(&self, name: Name, since: &[&Checkpoint]) -> Result<(Taken, Counted), GitError> {
        let mut state = self.lock();
        let taken = self.take(&mut state, name, since);
        if taken.is_err() {
            // A process that was killed may have left a lock; the next checkpoint starts from the user's index.
            state.origin = None;
            state.last = None;
            _ = self.forget_index(); // the error before this one says more
        }
        taken
    }

    fn take(&self, state: &mut State, name: Name, since: &[&Checkpoint]) -> Result<(Taken, Counted), GitError> {
        state.finish_naming();
        self.verify(state)?;
        let copied = self.follow_index(state, When::Changed)?;
        let (mut status, mut warnings) = self.scan()?;
        if copied == Copied::No && status.changes_ignoring() {
            // ralph's index goes on holding what is ignored from now on; the user's has never held it.
            self.follow_index(state, When::Always)?;
            (status, warnings) = self.scan()?;
        }
        let head = status.head.clone();
        let mut work = self.sort(status)?;
        let unchanged = work.add.is_empty() && work.remove.is_empty();
        let last = state.last.take().filter(|_| unchanged);
        self.update_index(&mut work)?;
        let tree = match &last {
            Some(last) => last.tree.clone(),
            None => self.own_index_git().args(["write-tree"]).run()?.line()?,
        };
        let here = Point {
            tree: &tree,
            head: head.as_deref(),
        };
        let same = last.filter(|last| last.head == head);
        let (checkpoint, counted) = self.keep(here, same, name, since)?;
        state.kept = Some((name.reference.to_owned(), checkpoint.commit.clone()));
        state.last = Some(checkpoint.clone());
        let untold = mem::take(&mut state.untold);
        let notices = work.notices().into_iter();
        let notices = notices
            .chain(warnings)
            .chain(untold)
            .filter(|notice| state.told.insert(notice.clone()))
            .collect();
        Ok((Taken { checkpoint, notices }, counted))
    }

    /// Gives what is there now its name, as a new commit unless there is the `same` already, and counts beside it.
    fn keep(
        &self,
        here: Point,
        same: Option<Checkpoint>,
        name: Name,
        since: &[&Checkpoint],
    ) -> Result<(Checkpoint, Counted), GitError> {
        thread::scope(|threads| {
            let since = since.iter().map(|from| Point::of(from));
            // Counted here where no thread is to be had.
            let counting: Vec<_> = since
                .map(|from| {
                    let count = move || self.count(from, here);
                    thread::Builder::new().spawn_scoped(threads, count).map_err(|_| from)
                })
                .collect();
            let checkpoint = match same {
                Some(same) => same,
                None => self.commit(here, name.message)?,
            };
            self.set_reference(name.reference, &checkpoint.commit)?;
            let counts = counting.into_iter().map(|counting| match counting {
                Ok(counting) => counting.join().expect("counting does not panic"),
                Err(from) => self.count(from, here),
            });
            Ok((checkpoint, counts.collect()))
        })
    }

    /// Writes a commit of what is there now.
    fn commit(&self, here: Point, message: &str) -> Result<Checkpoint, GitError> {
        let mut git = self
            .git()
            .args(["commit-tree", "--no-gpg-sign", "-m", message, here.tree]);
        for person in ["AUTHOR", "COMMITTER"] {
            git = git
                .env(&format!("GIT_{person}_NAME"), "ralph")
                .env(&format!("GIT_{person}_EMAIL"), "ralph@localhost");
        }
        if let Some(head) = here.head {
            git = git.args(["-p", head]);
        }
        Ok(Checkpoint {
            commit: git.run()?.line()?,
            tree: here.tree.to_owned(),
            head: here.head.map(str::to_owned),
        })
    }

    fn set_reference(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        self.git().args(["update-ref", reference, commit]).run().map(drop)
    }

    /// Makes sure that git can be let near the repository, and that it is still the one it was.
    pub(super) fn verify(&self, state: &mut State) -> Result<(), GitError> {
        let marks = self.layout.marks()?;
        self.layout.inspect()?;
        if marks == state.marks {
            return Ok(());
        }
        // Not every file system tells the same of a directory twice. What was written there does.
        let (reference, commit) = state.kept.as_ref().ok_or_else(|| self.replaced())?;
        let found = self
            .git()
            .args(["rev-parse", "--verify", "--quiet", reference])
            .run_any()?;
        if found.line().is_ok_and(|found| found == *commit) {
            state.marks = marks;
            return Ok(());
        }
        Err(self.replaced())
    }

    fn replaced(&self) -> GitError {
        GitError::Replaced {
            path: self.layout.git_dir.clone(),
        }
    }

    /// A git command on this repository alone: were it deleted, or told that it is another one, that one must not be taken
    /// for it. The user's index is left alone as well: an agent can make it anything.
    pub(super) fn git(&self) -> Git {
        Git::at(&self.layout.root)
            .deadline(self.deadline)
            .env("GIT_DIR", &self.layout.git_dir)
            .env("GIT_COMMON_DIR", &self.layout.common_dir)
            .env("GIT_WORK_TREE", &self.layout.root)
            .env("GIT_INDEX_FILE", &self.index)
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
