//! The references that ralph makes in a repository: listed and deleted for a clean-up, and checked for work that is
//! nowhere else.

use std::{collections::HashSet, path::Path};

use super::{
    Branches, GitError,
    show::delete_references,
    work_trees::{BATCH_REFERENCES, full},
};

/// Prefix of the references of checkpoints, before the name of their run.
const CHECKPOINTS: &str = "refs/ralph/";

/// The references that ralph has made: checkpoints, branches of batches, and commits that batches keep.
#[derive(Debug)]
pub struct OwnReferences<'a> {
    branches: &'a Branches,
    names: Vec<String>,
}

impl<'a> OwnReferences<'a> {
    /// Lists ralph's references of a repository.
    ///
    /// # Errors
    /// [`GitError`] if git cannot list them.
    pub fn list(branches: &'a Branches) -> Result<OwnReferences<'a>, GitError> {
        let list = ["for-each-ref", "--format=%(refname)", CHECKPOINTS, "refs/heads/ralph/"];
        let output = branches.git().args(list).run()?;
        let names = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect();
        Ok(OwnReferences { branches, names })
    }

    /// Whether the branch existed when the references were listed.
    pub fn has_branch(&self, branch: &str) -> bool {
        self.names.contains(&full(branch))
    }

    /// Returns the commit that keeps the merges of a batch, and the reference to it.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn held(&self, batch: &str) -> Result<Option<(String, String)>, GitError> {
        let reference = format!("{BATCH_REFERENCES}{batch}");
        if !self.names.contains(&reference) {
            return Ok(None);
        }
        let commit = self.branches.commit_of(&reference)?;
        Ok(commit.map(|commit| (reference, commit)))
    }

    /// Deletes the checkpoints of runs, and returns their number.
    ///
    /// # Errors
    /// [`GitError`]; none is deleted then.
    pub fn forget(&self, runs: &HashSet<String>) -> Result<usize, GitError> {
        let is_of_a_run = |name: &&String| {
            let run = name.strip_prefix(CHECKPOINTS).and_then(|rest| rest.split('/').next());
            run.is_some_and(|run| runs.contains(run))
        };
        let lines: Vec<String> = self
            .names
            .iter()
            .filter(is_of_a_run)
            .map(|name| format!("delete {name}\n"))
            .collect();
        delete_references(self.branches.git(), lines.concat().into_bytes())?;
        Ok(lines.len())
    }

    /// Whether a commit is contained in another branch than `branch`, or in a detached HEAD of the user's work tree.
    ///
    /// # Errors
    /// [`GitError`] if git cannot tell.
    pub fn is_elsewhere(&self, commit: &str, branch: &str) -> Result<bool, GitError> {
        // A symbolic reference is another name of a branch, which may be the same one.
        let list = ["for-each-ref", "--format=%(refname)%(symref)", "--contains", commit];
        let output = self
            .branches
            .git()
            .args(list)
            .args(["refs/heads/", "refs/remotes/"])
            .run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let own = full(branch);
        let is_symbolic = |name: &str| name.matches("refs/").count() > 1;
        if text.lines().any(|name| name != own && !is_symbolic(name)) {
            return Ok(true);
        }
        // A checked-out branch is listed above; a detached HEAD is not.
        Ok(self.branches.current()?.is_none() && self.branches.is_ancestor(commit, "HEAD")?)
    }

    /// Applies [`Self::is_elsewhere`] to the commit that another work tree has checked out.
    ///
    /// # Errors
    /// As [`OwnReferences::is_elsewhere`].
    pub fn is_head_elsewhere(&self, tree: &Path, branch: &str) -> Result<bool, GitError> {
        self.is_elsewhere(&self.branches.head_of(tree)?, branch)
    }
}
