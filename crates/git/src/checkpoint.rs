//! Makes checkpoints: one scan finds the differences, then only the differing files are read.

use std::{mem, thread};

use ralph_core::event::{Checkpoint, RunId};

use super::{
    CountedChanges, GitError, Moment, NewCheckpoint, Repository, blocking_file, layout::read_small,
    nested::NestedRepositories, process::Git, scoped_task::ScopedTask, state::RepositoryState, survey::OmissionReason,
};

/// The author and committer of checkpoints.
pub(super) const NAME: &str = "ralph";
pub(super) const EMAIL: &str = "ralph@localhost";

/// The line of a checkpoint's message that names HEAD. HEAD is no parent, because the store may not have it.
pub(super) const HEAD: &str = "Head: ";

/// A new checkpoint, and the changes since earlier ones, in their order.
type TakenCheckpoint = (NewCheckpoint, Result<Vec<CountedChanges>, GitError>);

/// Reference and message of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointName<'a> {
    pub(super) reference: &'a str,
    pub(super) message: &'a str,
}

/// The present files, as ralph's index has them.
#[derive(Debug)]
pub(super) struct RecordedFiles {
    pub(super) head: Option<String>,
    pub(super) branch: Option<String>,
    /// Whether ralph's index may differ from the previous checkpoint.
    pub(super) is_changed: bool,
    pub(super) notices: Vec<String>,
}

impl Repository {
    /// Records the present work tree under `refs/ralph/<run>/<n>-before` or `-after`.
    ///
    /// The checkpoint has all tracked and untracked files, but no ignored ones. Only the store and ralph's own index are
    /// written.
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
    ) -> Result<TakenCheckpoint, GitError> {
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
        let mut state = self.state.lock();
        state.finish_naming();
        if let Err(error) = self.verify(&mut state) {
            state.add_notice(format!("No checkpoint {moment} iteration {n}: {error}."));
            return;
        }
        let git = self.set_reference(&name, &checkpoint.commit);
        // If no thread can be started, the checkpoint keeps only its first name.
        state.naming = thread::Builder::new().spawn(move || git.run().map(drop)).ok();
    }

    pub(super) fn checkpoint_as(
        &self,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<TakenCheckpoint, GitError> {
        let mut state = self.state.lock();
        let taken = self.take(&mut state, name, since);
        if taken.is_err() {
            self.start_over(&mut state);
        }
        taken
    }

    fn take(
        &self,
        state: &mut RepositoryState,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<TakenCheckpoint, GitError> {
        state.finish_naming();
        self.verify(state)?;
        let files = self.record_files(state)?;
        let (checkpoint, counted) = self.keep(state.last.take(), &state.nested, &files, name, since)?;
        self.keep_nested(state, name.reference);
        state.latest_head.clone_from(&checkpoint.head);
        state.last = Some(checkpoint.clone());
        let pending = mem::take(&mut state.pending_notices);
        let notices = files.notices.into_iter().chain(pending);
        let notices = notices
            .filter(|notice| state.announced.insert(notice.clone()))
            .collect();
        let taken = NewCheckpoint {
            checkpoint,
            branch: files.branch,
            notices,
        };
        Ok((taken, counted))
    }

    /// Brings ralph's index to the state of the present files.
    pub(super) fn record_files(&self, state: &mut RepositoryState) -> Result<RecordedFiles, GitError> {
        let recorded = self.read_files(state);
        if let Err(GitError::Blocked { path, .. }) = &recorded {
            state.blocking_file = Some(path.clone());
        }
        recorded
    }

    fn read_files(&self, state: &mut RepositoryState) -> Result<RecordedFiles, GitError> {
        self.make_store()?;
        let mut is_changed = self.follow_index(state)? | self.drop_gone_nested(state)?;
        let (mut status, mut warnings) = self.scan()?;
        if status.changes_ignoring() && self.drop_ignored(state)? {
            is_changed = true;
            (status, warnings) = self.scan()?;
        }
        let (head, branch) = (status.head.take(), status.branch.take());
        let nested = self.record_nested(state, &mut status)?;
        let mut work = self.sort(status, state.origin.as_ref());
        is_changed |= nested.is_changed || !work.is_empty();
        for (path, why) in nested.left_out {
            work.leave_out(OmissionReason::Nested { why }, path);
        }
        self.update_index(&mut work)?;
        let mut notices = work.notices();
        notices.extend(nested.notices);
        notices.append(&mut warnings);
        Ok(RecordedFiles {
            head,
            branch,
            is_changed,
            notices,
        })
    }

    /// Names the content of ralph's index with a commit, and counts changes in parallel. The commit is `last` if
    /// neither tree nor HEAD changed.
    fn keep(
        &self,
        last: Option<Checkpoint>,
        nested: &NestedRepositories,
        files: &RecordedFiles,
        name: CheckpointName,
        since: &[&Checkpoint],
    ) -> Result<(Checkpoint, Result<Vec<CountedChanges>, GitError>), GitError> {
        let tree = match &last {
            Some(last) if !files.is_changed => last.tree.clone(),
            Some(_) | None => self.write_tree()?,
        };
        let head = files.head.as_deref();
        let count = || self.count_changes(since, &tree, head, nested);
        thread::scope(|threads| {
            let counted = ScopedTask::start(threads, &count);
            let same = last.filter(|last| last.tree == tree && last.head.as_deref() == head);
            let checkpoint = match same {
                Some(same) => same,
                None => self.commit(&tree, head, name.message)?,
            };
            self.set_reference(name.reference, &checkpoint.commit).run()?;
            Ok((checkpoint, counted.result()))
        })
    }

    /// Writes the tree of ralph's index and returns its name.
    pub(super) fn write_tree(&self) -> Result<String, GitError> {
        self.own_index_git().args(["write-tree"]).run()?.line()
    }

    /// Writes a commit of a tree that names HEAD.
    fn commit(&self, tree: &str, head: Option<&str>, message: &str) -> Result<Checkpoint, GitError> {
        Ok(Checkpoint {
            commit: self.commit_command(tree, head, message).run()?.line()?,
            tree: tree.to_owned(),
            head: head.map(str::to_owned),
        })
    }

    /// Returns the command that writes a commit of ralph's.
    pub(super) fn commit_command(&self, tree: &str, head: Option<&str>, message: &str) -> Git {
        let mut git = self
            .store_git()
            .args(["commit-tree", "--no-gpg-sign", "-m", message, tree]);
        for person in ["AUTHOR", "COMMITTER"] {
            git = git
                .env(&format!("GIT_{person}_NAME"), NAME)
                .env(&format!("GIT_{person}_EMAIL"), EMAIL);
        }
        match (head, &self.store) {
            (Some(head), Some(_)) => git.args(["-m", &format!("{HEAD}{head}")]),
            (Some(head), None) => git.args(["-p", head]),
            (None, _) => git,
        }
    }

    /// Returns the command that sets a reference itself: a symbolic reference may have been made to lead to one of the
    /// user's.
    pub(super) fn set_reference(&self, reference: &str, commit: &str) -> Git {
        self.store_git().args(["update-ref", "--no-deref", reference, commit])
    }

    /// Forgets ralph's index after an error: a process that was killed may have left a lock.
    pub(super) fn start_over(&self, state: &mut RepositoryState) {
        state.origin = None;
        state.last = None;
        state.nested.forget_links();
        _ = self.forget_index(); // the earlier error says more
    }

    /// Checks that git can be run on the repository safely, and that the repository was not replaced.
    pub(super) fn verify(&self, state: &mut RepositoryState) -> Result<(), GitError> {
        let identities = self.layout.directory_identities()?;
        self.layout.inspect()?;
        if let Some(path) = state
            .blocking_file
            .clone()
            .filter(|path| blocking_file::is_blocking(path))
        {
            return Err(GitError::NotAFile { path });
        }
        let configuration = read_small(&self.layout.common_dir.join("config"));
        if identities == state.directory_identities {
            state.configuration = configuration;
            return Ok(());
        }
        // Not every file system reports the same identity of a directory twice. A repository with the same configuration
        // and with the commit of HEAD is the same one, too.
        let head = state
            .latest_head
            .as_ref()
            .filter(|_| state.configuration == configuration);
        let head = head.ok_or_else(|| self.replaced())?;
        if !self.git().args(["cat-file", "-e", head]).run_any()?.success() {
            return Err(self.replaced());
        }
        state.directory_identities = identities;
        Ok(())
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
}

/// Returns the reference of an iteration's checkpoint.
pub(super) fn reference(run: &RunId, n: u32, moment: Moment) -> String {
    format!("refs/ralph/{run}/{n}-{moment}")
}
