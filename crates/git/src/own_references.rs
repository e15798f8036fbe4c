//! The references that ralph makes in a repository: listed and deleted for a clean-up, and checked for work that is
//! nowhere else.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    thread::JoinHandle,
};

use ralph_system::paths::States;

use super::{
    Branches, GitError,
    process::Git,
    show::delete_references,
    store::{CHECKPOINTS, HISTORIES, SETTINGS, start_collection, store_of},
    work_trees::{BATCH_REFERENCES, full},
};

/// The references that ralph has made: checkpoints, branches of batches, and commits that batches keep.
#[derive(Debug)]
pub struct OwnReferences<'a> {
    branches: &'a Branches,
    names: Vec<String>,
    /// The checkpoints in each store of the repository.
    stored: Vec<(PathBuf, Vec<String>)>,
}

impl<'a> OwnReferences<'a> {
    /// Lists ralph's references of a repository, and of its store below `states`.
    ///
    /// # Errors
    /// [`GitError`] if git cannot list them.
    pub fn list(branches: &'a Branches, states: &States) -> Result<OwnReferences<'a>, GitError> {
        let names = listed(branches.git())?;
        let stores = [20, 32].map(|id_bytes| store_of(states, branches.common_dir(), id_bytes));
        let stores = stores.into_iter().filter(|store| store.exists());
        let stored = stores.map(|store| Ok((store.clone(), listed(on_store(branches, &store))?)));
        Ok(OwnReferences {
            branches,
            names,
            stored: stored.collect::<Result<_, GitError>>()?,
        })
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
        let forget = |names: &[String], git: Git| {
            let lines: Vec<String> = names
                .iter()
                .filter(is_of_a_run)
                .map(|name| format!("delete {name}\n"))
                .collect();
            delete_references(git, lines.concat().into_bytes())?;
            Ok(lines
                .iter()
                .filter(|line| !line.contains(HISTORIES) && !line.contains(SETTINGS))
                .count())
        };
        let mut forgotten = forget(&self.names, self.branches.git())?;
        for (store, names) in &self.stored {
            forgotten += forget(names, on_store(self.branches, store))?;
        }
        Ok(forgotten)
    }

    /// Starts to delete the objects of the stores that no checkpoint needs.
    pub fn collect(&self) -> Vec<JoinHandle<()>> {
        let stores = self.stored.iter().map(|(store, _)| on_store(self.branches, store));
        stores.filter_map(start_collection).collect()
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

fn listed(git: Git) -> Result<Vec<String>, GitError> {
    let list = ["for-each-ref", "--format=%(refname)", CHECKPOINTS, "refs/heads/ralph/"];
    let output = git.args(list).run()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

fn on_store(branches: &Branches, store: &Path) -> Git {
    branches.unconfined(branches.root()).env("GIT_DIR", store)
}
