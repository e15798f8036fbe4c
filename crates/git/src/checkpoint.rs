//! Makes checkpoints: one scan finds the differences, then only the differing files are read.

use std::{
    mem,
    sync::{MutexGuard, PoisonError},
    thread,
};

use ralph_core::event::{Checkpoint, RunId};

use super::{
    CountedChanges, GitError, Moment, NewCheckpoint, Repository,
    counts::{DiffCounts, Point},
    index::IndexUpdate,
    known_settings::KnownSettings,
    loose::LooseObjects,
    process::Git,
    state::RepositoryState,
    table::IndexTable,
};

/// The author and committer of checkpoints.
const NAME: &str = "ralph";
const EMAIL: &str = "ralph@localhost";

/// Attempts at a checkpoint whose objects git garbage-collects in the meantime.
const ATTEMPTS: u32 = 3;

/// Reference and message of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointName<'a> {
    pub(super) reference: &'a str,
    pub(super) message: &'a str,
}

impl Repository {
    /// Records the present work tree under `refs/ralph/<run>/<n>-before` or `-after`.
    ///
    /// The checkpoint has all tracked and untracked files, but no ignored ones. Only the object database, that
    /// reference and ralph's own index are written.
    ///
    /// # Errors
    /// [`GitError`]; nothing of the user's has changed then either.
    pub fn checkpoint(&self, run: &RunId, n: u32, moment: Moment) -> Result<NewCheckpoint, GitError> {
        self.checkpoint_since(run, n, moment, &[]).map(|(taken, _)| taken)
    }

    /// Makes a checkpoint and counts the changes since each of some earlier ones, as [`Repository::changes`] does. The
    /// tree is known before the commit is written, so both are done at once.
    ///
    /// # Errors
    /// [`GitError`] as [`Repository::checkpoint`]; the inner one as [`Repository::changes`].
    pub fn checkpoint_since(
        &self,
        run: &RunId,
        n: u32,
        moment: Moment,
        since: &[&Checkpoint],
    ) -> Result<(NewCheckpoint, CountedChanges), GitError> {
        let name = CheckpointName {
            reference: &reference(run, n, moment),
            message: &format!("ralph {run}: {moment} iteration {n}"),
        };
        self.checkpoint_as(name, since)
    }

    /// Records an earlier checkpoint under another name, for a work tree in which nothing happened since.
    ///
    /// Returns at once: the first name already keeps the commit, so no caller needs to wait for the second. An error
    /// becomes a notice of the next checkpoint.
    pub fn repeat(&self, checkpoint: &Checkpoint, run: &RunId, n: u32, moment: Moment) {
        let name = reference(run, n, moment);
        let mut state = self.lock();
        state.finish_naming();
        if let Err(error) = self.verify(&mut state) {
            state.add_notice(format!("No checkpoint {moment} iteration {n}: {error}."));
            return;
        }
        if self
            .loose()
            .is_some_and(|loose| loose.set_reference(&name, &checkpoint.commit))
        {
            return;
        }
        let git = self.git_set_reference(&name, &checkpoint.commit);
        // If no thread can be started, the checkpoint keeps only its first name.
        state.naming = thread::Builder::new().spawn(move || git.run().map(drop)).ok();
    }

    pub(super) fn checkpoint_as(
        &self,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<(NewCheckpoint, CountedChanges), GitError> {
        let mut state = self.lock();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let collections = self.collections();
            let mut taken = self.take(&mut state, name, since);
            let may_be_collected = self.may_be_collected(collections);
            if may_be_collected {
                taken = taken.and_then(|taken| self.kept_whole(&mut state, name, taken));
            }
            if taken.is_err() {
                // A process that was killed may have left a lock; the next checkpoint starts from the user's index.
                state.origin = None;
                state.forget();
                _ = self.forget_index(); // the earlier error says more
            }
            let is_spoilt = may_be_collected && matches!(taken, Err(GitError::Refused { .. }));
            if !is_spoilt || attempts == ATTEMPTS {
                return taken;
            }
        }
    }

    /// Returns the checkpoint if git has collected none of its objects. Otherwise deletes its reference, because every
    /// git command fails on a reference whose objects are missing.
    fn kept_whole(
        &self,
        state: &mut RepositoryState,
        name: CheckpointName,
        taken: (NewCheckpoint, CountedChanges),
    ) -> Result<(NewCheckpoint, CountedChanges), GitError> {
        let Err(error) = self.outlast_collection(&taken.0.checkpoint.commit) else {
            return Ok(taken);
        };
        let delete = ["update-ref", "--no-deref", "-d", name.reference];
        _ = self.git().args(delete).run(); // the earlier error says more
        state.latest_reference = None;
        // The next attempt repeats the notices.
        for notice in taken.0.notices {
            state.announced.remove(&notice);
            state.add_notice(notice);
        }
        Err(error)
    }

    fn take(
        &self,
        state: &mut RepositoryState,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<(NewCheckpoint, CountedChanges), GitError> {
        state.finish_naming();
        self.verify(state)?;
        let copied = self.follow_index(state, IndexUpdate::Changed)?;
        let found = match self.find_without_git(state) {
            Some(found) => found,
            None => self.find_by_git(state, copied)?,
        };
        let last = state.last.take().filter(|_| found.unchanged);
        let table = &mut state.table;
        let (checkpoint, counted) = self.keep(&mut state.counts, table, last, found.head, name, since)?;
        if let Some((ignored, rules)) = found.ignoring {
            state.table = self.read_table(ignored, rules, &checkpoint.tree);
        }
        state.latest_reference = Some((name.reference.to_owned(), checkpoint.commit.clone()));
        state.last = Some(checkpoint.clone());
        let pending = mem::take(&mut state.pending_notices);
        let notices = found.notices.into_iter().chain(pending);
        let notices = notices
            .filter(|notice| state.announced.insert(notice.clone()))
            .collect();
        Ok((NewCheckpoint { checkpoint, notices }, counted))
    }

    /// Names the content of ralph's index with a commit, and counts changes in parallel. The commit is `last` if
    /// neither tree nor HEAD changed.
    fn keep(
        &self,
        counts: &mut DiffCounts,
        table: &mut Option<IndexTable>,
        last: Option<Checkpoint>,
        head: Option<String>,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<(Checkpoint, CountedChanges), GitError> {
        // A commit of a tree that another process removed would be broken; git verifies that all of it exists.
        let last = last.filter(|last| last.head == head || self.loose().is_none_or(|loose| loose.has(&last.tree)));
        let known = last.as_ref().map(|last| last.tree.clone());
        let same = last.filter(|last| last.head == head);
        let since: Vec<Point> = since.iter().map(|from| Point::from_checkpoint(from)).collect();
        self.count_in_parallel(counts, &since, head.as_deref(), |now| {
            let tree = match &known {
                Some(tree) => tree.clone(),
                None => self.write_trees(table)?,
            };
            now.send(&tree);
            // Attributes are needed in ralph's index now; the rest of it is written only when git works on it.
            if let Some(table) = table.as_mut().filter(|table| table.has_other_attributes) {
                self.write_table(table)?;
            }
            let here = Point {
                tree: &tree,
                head: head.as_deref(),
            };
            let checkpoint = match same {
                Some(same) => same,
                None => self.commit(here, name.message)?,
            };
            self.set_reference(name.reference, &checkpoint.commit)?;
            Ok((tree, checkpoint))
        })
    }

    /// Writes a commit of the current tree and HEAD.
    fn commit(&self, here: Point, message: &str) -> Result<Checkpoint, GitError> {
        let written = self
            .loose()
            .and_then(|loose| loose.write_commit(&text_of(here, message)));
        let commit = match written {
            Some(commit) => commit,
            None => self.commit_by_git(here, message)?,
        };
        Ok(Checkpoint {
            commit,
            tree: here.tree.to_owned(),
            head: here.head.map(str::to_owned),
        })
    }

    fn commit_by_git(&self, here: Point, message: &str) -> Result<String, GitError> {
        let mut git = self
            .git()
            .args(["commit-tree", "--no-gpg-sign", "-m", message, here.tree]);
        for person in ["AUTHOR", "COMMITTER"] {
            git = git
                .env(&format!("GIT_{person}_NAME"), NAME)
                .env(&format!("GIT_{person}_EMAIL"), EMAIL);
        }
        if let Some(head) = here.head {
            git = git.args(["-p", head]);
        }
        git.run()?.line()
    }

    fn set_reference(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        if self.loose().is_some_and(|loose| loose.set_reference(reference, commit)) {
            return Ok(());
        }
        self.git_set_reference(reference, commit).run().map(drop)
    }

    /// Has git set a reference itself: a symbolic reference may have been made to lead to one of the user's.
    fn git_set_reference(&self, reference: &str, commit: &str) -> Git {
        self.git().args(["update-ref", "--no-deref", reference, commit])
    }

    /// Checks that git can be run on the repository safely, and that the repository was not replaced.
    pub(super) fn verify(&self, state: &mut RepositoryState) -> Result<(), GitError> {
        let identities = self.layout.directory_identities()?;
        self.layout.inspect()?;
        if identities == state.directory_identities {
            return Ok(());
        }
        // Not every file system reports the same identity of a directory twice. The latest checkpoint's reference
        // identifies it, too.
        let (reference, commit) = state.latest_reference.as_ref().ok_or_else(|| self.replaced())?;
        let found = self
            .git()
            .args(["rev-parse", "--verify", "--quiet", reference])
            .run_any()?;
        if found.line().is_ok_and(|found| found == *commit) {
            state.directory_identities = identities;
            return Ok(());
        }
        Err(self.replaced())
    }

    fn replaced(&self) -> GitError {
        GitError::Replaced {
            path: self.layout.git_dir.clone(),
        }
    }

    /// Returns a git command bound to this repository: if it is deleted or its configuration points elsewhere, git must
    /// not use another one. The user's index is not used either, because an agent can change it at will.
    pub(super) fn git(&self) -> Git {
        Git::at(&self.supervisor, &self.layout.root)
            .deadline(self.deadline)
            .env("GIT_DIR", &self.layout.git_dir)
            .env("GIT_COMMON_DIR", &self.layout.common_dir)
            .env("GIT_WORK_TREE", &self.layout.root)
            .env("GIT_INDEX_FILE", &self.index)
    }

    /// Returns git's present settings; `None` if they cannot be read, where git's own error says more.
    pub(super) fn settings(&self) -> Option<KnownSettings> {
        let list = || {
            let listed = self.git().args(["config", "--list", "--show-origin", "-z"]).run();
            listed.ok().map(|listed| listed.stdout)
        };
        let mut known = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|known| known.still_holds(&self.layout)) {
            *known = KnownSettings::found(&self.layout, list);
        }
        known.clone()
    }

    /// Returns the writer of objects and references without git; `None` if git might write them differently.
    pub(super) fn loose(&self) -> Option<&LooseObjects> {
        let found = || LooseObjects::found(&self.settings()?.settings, &self.layout, self.id_bytes);
        self.loose.get_or_init(found).as_ref()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, RepositoryState> {
        // The state is forgotten with each error, so a state that a panic left behind is at worst stale.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the content of a point's commit object.
fn text_of(here: Point, message: &str) -> String {
    let now = jiff::Zoned::now();
    let minutes = now.offset().seconds() / 60;
    let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
    let time = format!(
        "{} {sign}{:02}{:02}",
        now.timestamp().as_second(),
        minutes / 60,
        minutes % 60
    );
    let parent = here.head.map_or_else(String::new, |head| format!("parent {head}\n"));
    let person = format!("{NAME} <{EMAIL}> {time}");
    format!(
        "tree {}\n{parent}author {person}\ncommitter {person}\n\n{message}\n",
        here.tree
    )
}

/// Returns the reference of an iteration's checkpoint.
pub(super) fn reference(run: &RunId, n: u32, moment: Moment) -> String {
    format!("refs/ralph/{run}/{n}-{moment}")
}
