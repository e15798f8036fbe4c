//! A copy of a work tree whose files are replaced by those of one tree after another, byte for byte.

use std::path::{Path, PathBuf};

use super::{GitError, Repository, process::Git};

/// A directory with the files of a project, or of a directory of it. Its own index is kept between trees, so that only
/// files that differ are written.
#[derive(Debug)]
pub struct Replica<'r> {
    repository: &'r Repository,
    directory: PathBuf,
    /// The project's path in the repository; empty for its root.
    project: PathBuf,
    /// The tree of the project's present files.
    now: String,
}

impl Repository {
    /// Takes `directory`, a copy of the files that `project` has now, for the files of other trees.
    ///
    /// # Errors
    /// [`GitError`] if git cannot read the files.
    pub fn replica(&self, project: &Path, directory: &Path) -> Result<Replica<'_>, GitError> {
        self.make_attribute_free()?;
        let mut replica = Replica {
            repository: self,
            directory: directory.to_owned(),
            project: project.strip_prefix(self.root()).unwrap_or(Path::new("")).to_owned(),
            now: String::new(),
        };
        replica.now = replica.tree_of_project(&self.tree_of(None)?)?;
        replica.git().args(["read-tree", &replica.now]).run()?;
        // git exits with 1 if a file differs, which it then writes anew.
        replica.git().args(["update-index", "-q", "--refresh"]).run_any()?;
        Ok(replica)
    }
}

impl Replica<'_> {
    /// Returns the tree of the project's present files.
    pub fn now(&self) -> &str {
        &self.now
    }

    /// Makes the files equal to those of `tree`, as [`Replica::tree_of_project`] returns it. Other files stay.
    ///
    /// # Errors
    /// [`GitError`] if the tree is gone, or if its files cannot be written.
    pub fn fill(&self, tree: &str) -> Result<(), GitError> {
        self.git().args(["read-tree", "--reset", "-u", tree]).run().map(drop)
    }

    /// Returns the part of a tree of the repository that belongs to the project; the empty tree if it has none.
    ///
    /// # Errors
    /// [`GitError`] if the tree is gone.
    pub fn tree_of_project(&self, tree: &str) -> Result<String, GitError> {
        let (repository, project) = (self.repository, self.project.to_string_lossy());
        repository
            .git()
            .args(["cat-file", "-e", &format!("{tree}^{{tree}}")])
            .run()?;
        let find = ["rev-parse", "--verify", "--quiet"];
        let found = repository
            .git()
            .args(find)
            .args([format!("{tree}:{project}")])
            .run_any()?;
        match found.success() {
            true => found.line(),
            false => Ok(repository.empty_tree().to_owned()),
        }
    }

    fn git(&self) -> Git {
        let index = self.repository.index.with_file_name("git-replica-index");
        let git = self.repository.own_index_git().env("GIT_WORK_TREE", &self.directory);
        git.env("GIT_INDEX_FILE", index)
    }
}
