//! Fills a directory outside of the work tree with the files of a checkpoint.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ralph_core::event::Checkpoint;

use super::{
    GitError, Repository,
    nested::links_in,
    process::{self, Git, nul_separated},
};

/// A directory with the files of a checkpoint, and git's index of it.
#[derive(Debug, Clone, Copy)]
pub struct CheckedOut<'a> {
    pub directory: &'a Path,
    pub index: &'a Path,
}

impl Repository {
    /// Gives tracked files of the directory the bytes and modes of the checkpoint. Only differing files are written, so
    /// that what tools have built of the others stays of use. Other files stay. Returns the repositories inside, of which the
    /// checkpoint has only the names: they are not in the index.
    ///
    /// # Errors
    /// [`GitError::Refused`] if the checkpoint is gone, or the directory cannot be written.
    pub fn check_out(&self, checkpoint: &Checkpoint, to: CheckedOut) -> Result<Vec<PathBuf>, GitError> {
        self.make_attribute_free()?;
        if !to.index.exists() {
            self.git_in(to).args(["read-tree", &checkpoint.tree]).run()?;
        }
        // Fails where a file differs, which is what the next command changes.
        self.git_in(to).args(["update-index", "-q", "--refresh"]).run_any()?;
        let reset = ["read-tree", "--reset", "-u", &checkpoint.tree];
        self.git_in(to).args(reset).run()?;
        let listed = self.git_in(to).args(["ls-files", "-z", "--stage"]).run()?;
        let inside: Vec<PathBuf> = links_in(&listed.stdout).collect();
        if !inside.is_empty() {
            self.git_in(to).removing(&inside).run()?;
        }
        Ok(inside)
    }

    /// Returns the files of the directory that its index lacks and that git does not ignore.
    ///
    /// # Errors
    /// [`GitError`] if git cannot list them.
    pub fn untracked_in(&self, at: CheckedOut) -> Result<BTreeSet<PathBuf>, GitError> {
        let list = ["ls-files", "-z", "--others", "--exclude-standard"];
        let output = self.git_in(at).args(list).run()?;
        Ok(nul_separated(&output.stdout).map(process::path).collect())
    }

    /// Returns the files and whole directories that git ignores in the directory; a directory ends with a slash.
    ///
    /// # Errors
    /// [`GitError`] if git cannot list them.
    pub fn ignored_in(&self, at: CheckedOut) -> Result<BTreeSet<PathBuf>, GitError> {
        let list = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ];
        let output = self.git_in(at).args(list).run()?;
        Ok(nul_separated(&output.stdout).map(process::path).collect())
    }

    /// Returns the other repositories in the work tree, of which the latest checkpoint has only the names.
    pub fn repositories_inside(&self) -> Vec<PathBuf> {
        self.state.lock().nested.paths()
    }

    fn git_in(&self, at: CheckedOut) -> Git {
        self.own_index_git()
            .env("GIT_WORK_TREE", at.directory)
            .env("GIT_INDEX_FILE", at.index)
            .current_dir(at.directory)
    }
}
