//! Finds out whether the repository that a run began with is still there, and what is left of it.
//!
//! A repository is known by its directory, and by the commits that it had. A file in it that git cannot read at the moment
//! is no loss: it can be mended, and the next checkpoint works.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{Checkpoint, LossKind, LostRepository};

use super::{
    GitError, Repository,
    layout::{DirectoryIdentity, git_dir_of},
};

/// Most entries of a directory that are looked at for a repository that was moved.
const MOST_ENTRIES: usize = 1000;

/// Whether git could make and compare the latest checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitWorks {
    Yes,
    Doubtful,
}

impl Repository {
    /// Returns what became of the repository, if it is no longer there; `known` are checkpoints that it had.
    pub fn lost(&self, known: &[&Checkpoint], works: GitWorks) -> Option<LostRepository> {
        let how = self.loss(known, works)?;
        let origin = self.origin.clone();
        let moved_to = match how {
            LossKind::Gone | LossKind::Replaced | LossKind::Emptied => self.moved_to(),
            LossKind::Unlinked | LossKind::Unreadable { .. } => None,
        };
        let head = known.iter().find_map(|checkpoint| checkpoint.head.as_ref());
        Some(LostRepository {
            root: self.layout.root.clone(),
            directory: self.layout.git_dir.clone(),
            how,
            moved_to,
            branch: origin.branch.map(Into::into),
            head: head.map(Into::into),
            remote: origin.remote.map(Into::into),
            store: self.store.clone(),
            history: self.stored_history().map(Into::into),
        })
    }

    /// Returns the reference in the store to the history from before the run, if it has arrived.
    fn stored_history(&self) -> Option<String> {
        let history = self.state.lock().history.clone()?;
        let asked = self.store_git().args(["rev-parse", "--verify", "--quiet", &history]);
        asked.run().is_ok().then_some(history)
    }

    fn loss(&self, known: &[&Checkpoint], works: GitWorks) -> Option<LossKind> {
        match self.layout.directory_identities() {
            Ok(_) => {}
            Err(GitError::Gone { .. }) => return Some(LossKind::Gone),
            Err(GitError::Replaced { .. }) => return Some(LossKind::Replaced),
            // An error of the disk, which may pass.
            Err(_) => return None,
        }
        let leads_to = git_dir_of(&self.layout.root).and_then(|found| found.canonicalize().ok());
        if leads_to.as_ref() != Some(&self.layout.git_dir) {
            return Some(LossKind::Unlinked);
        }
        if works == GitWorks::Yes {
            return None;
        }
        match self.verify(&mut self.state.lock()) {
            Ok(()) => {}
            Err(GitError::Replaced { .. }) => return Some(LossKind::Replaced),
            // A pipe in the place of a file, for example.
            Err(_) => return None,
        }
        self.unreadable(known)
    }

    /// Asks git for the commits that the repository had.
    fn unreadable(&self, known: &[&Checkpoint]) -> Option<LossKind> {
        let heads = known.iter().filter_map(|checkpoint| checkpoint.head.as_deref());
        let names: Vec<&str> = heads.collect();
        let check = self.git().args(["cat-file", "--batch-check"]);
        let found = check.input((names.join("\n") + "\n").into_bytes()).run_any().ok()?;
        if !found.success() {
            let GitError::Refused { said, .. } = found.refusal() else {
                return None;
            };
            return Some(LossKind::Unreadable { why: said.into() });
        }
        let answers = String::from_utf8_lossy(&found.stdout);
        let is_emptied = !names.is_empty() && answers.lines().all(|line| line.ends_with(" missing"));
        is_emptied.then_some(LossKind::Emptied)
    }

    /// Looks for git's directory below the root, beside it and among temporary files.
    fn moved_to(&self) -> Option<PathBuf> {
        let [sought, _] = self.state.lock().directory_identities.clone();
        let root = &self.layout.root;
        let here = git_dir_of(root).into_iter();
        let places = [Some(root.as_path()), root.parent(), Some(&env::temp_dir())];
        let beside = places.into_iter().flatten().flat_map(entries);
        let mut found = here.chain(beside).filter(|path| *path != self.layout.git_dir);
        found.find(|path| DirectoryIdentity::of(path).is_ok_and(|identity| identity == sought))
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().take(MOST_ENTRIES);
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
