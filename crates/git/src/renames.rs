//! Changed and renamed files between two checkpoints, and the text of a file at one.

use std::path::{Path, PathBuf};

use ralph_core::event::{Checkpoint, GuardedChangeKind};

use super::{
    GitError, Repository,
    process::{nul_separated, path},
};

/// Most bytes of the list of renamed files.
const LIST_BYTES: usize = 1 << 20;
/// Most bytes of the changed files of all spans.
const CHANGED_BYTES: usize = 16 << 20;
/// Most bytes of a file that is read.
const FILE_BYTES: usize = 4 << 20;

impl Repository {
    /// Lists the files that changed in each of several spans, by their paths below the root. A renamed file is a new one.
    /// One git process answers for all spans.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn changed_in_each(
        &self,
        spans: &[(&Checkpoint, &Checkpoint)],
    ) -> Result<Vec<Vec<(String, GuardedChangeKind)>>, GitError> {
        let mut found = vec![Vec::new(); spans.len()];
        let differ: Vec<usize> = (0..spans.len())
            .filter(|at| spans[*at].0.tree != spans[*at].1.tree)
            .collect();
        let Some(first) = differ.first() else {
            return Ok(found);
        };
        let head = |at: &usize| format!("{} {}\n", spans[*at].0.tree, spans[*at].1.tree);
        let asked: String = differ.iter().map(head).collect();
        let git = self
            .store_git()
            .args(["diff-tree", "--stdin", "-r", "-z", "--name-status", "--find-renames"]);
        let output = git.input(asked.into_bytes()).output_cap(CHANGED_BYTES).run()?;
        let (mut asked, mut at) = (differ.iter(), *first);
        let mut fields = nul_separated(&output.stdout).map(String::from_utf8_lossy);
        while let Some(field) = fields.next() {
            // The names of both trees stand on a line of their own before the files of a span.
            let field = match field.split_once('\n') {
                Some((_, status)) => {
                    at = *asked.next().unwrap_or(first);
                    status.to_owned()
                }
                None => field.into_owned(),
            };
            let kind = match field.as_bytes().first() {
                None => continue,
                Some(b'D') => GuardedChangeKind::Deleted,
                Some(b'A' | b'R' | b'C') => GuardedChangeKind::Added,
                Some(_) => GuardedChangeKind::Changed,
            };
            let is_moved = field.starts_with(['R', 'C']);
            let path = fields.nth(usize::from(is_moved));
            found[at].extend(path.map(|path| (path.into_owned(), kind)));
        }
        Ok(found)
    }

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
