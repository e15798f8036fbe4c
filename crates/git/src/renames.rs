//! Renamed files between two checkpoints, and the text of a file at one.

use std::path::{Path, PathBuf};

use ralph_core::event::Checkpoint;

use super::{
    GitError, Repository,
    process::{nul_separated, path},
};

/// Most bytes of the list of renamed files.
const LIST_BYTES: usize = 1 << 20;
/// Most bytes of a file that is read.
const FILE_BYTES: usize = 4 << 20;

impl Repository {
    /// Lists the files that were renamed between two checkpoints, with their paths below the root before and after.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn renames(&self, from: &Checkpoint, to: &Checkpoint) -> Result<Vec<(PathBuf, PathBuf)>, GitError> {
        if from.tree == to.tree {
            return Ok(Vec::new());
        }
        let git = self.store_git().args([
            "diff-tree",
            "-r",
            "-z",
            "--name-status",
            "--find-renames",
            "--diff-filter=R",
        ]);
        let output = git.output_cap(LIST_BYTES).args([&from.tree, &to.tree]).run()?;
        let fields: Vec<&[u8]> = nul_separated(&output.stdout).collect();
        let renamed = fields
            .chunks_exact(3)
            .map(|renamed| (path(renamed[1]), path(renamed[2])));
        Ok(renamed.collect())
    }

    /// Reads a file as it is at a checkpoint, or now; `file` is its path below the root. `None` if there is no such file,
    /// or if it is larger than 4 MiB.
    ///
    /// The file is read from git's objects, so no link in the work tree is followed.
    ///
    /// # Errors
    /// [`GitError`] if git fails.
    pub fn text_at(&self, at: Option<&Checkpoint>, file: &Path) -> Result<Option<String>, GitError> {
        let Some(file) = file.to_str().filter(|file| !file.contains(['\0', '\n'])) else {
            return Ok(None);
        };
        let tree = self.tree_of(at)?;
        let git = self.store_git().args(["cat-file", "blob", &format!("{tree}:{file}")]);
        let output = git.output_cap(FILE_BYTES).run_any()?;
        let is_whole = output.success() && !output.cut;
        Ok(is_whole.then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}
