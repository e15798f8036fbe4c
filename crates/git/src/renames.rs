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
        self.each_field(
            spans,
            &["--name-status", "--find-renames"],
            &[],
            |at, status, fields| {
                let kind = match status.as_bytes().first() {
                    None => return,
                    Some(b'D') => GuardedChangeKind::Deleted,
                    Some(b'A' | b'R' | b'C') => GuardedChangeKind::Added,
                    Some(_) => GuardedChangeKind::Changed,
                };
                let is_moved = status.starts_with(['R', 'C']);
                let path = fields.nth(usize::from(is_moved));
                found[at].extend(path.map(|path| (path, kind)));
            },
        )?;
        Ok(found)
    }

    /// Counts the lines that each span removes from each of some files, by their paths below the root, where it removes any.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn removed_in_each(
        &self,
        spans: &[(&Checkpoint, &Checkpoint)],
        paths: &[String],
    ) -> Result<Vec<Vec<(String, u64)>>, GitError> {
        let mut found = vec![Vec::new(); spans.len()];
        if !paths.is_empty() {
            self.each_field(spans, &["--numstat", "--no-renames"], paths, |at, row, _| {
                let mut columns = row.splitn(3, '\t').skip(1);
                let removed = columns.next().and_then(|removed| removed.parse().ok());
                if let (Some(removed @ 1..), Some(path)) = (removed, columns.next()) {
                    found[at].push((path.to_owned(), removed));
                }
            })?;
        }
        Ok(found)
    }

    /// Compares the trees of each span. `take` gets the place of a span and the first field of each of its files.
    fn each_field(
        &self,
        spans: &[(&Checkpoint, &Checkpoint)],
        options: &[&str],
        paths: &[String],
        mut take: impl FnMut(usize, &str, &mut dyn Iterator<Item = String>),
    ) -> Result<(), GitError> {
        let differ: Vec<usize> = (0..spans.len())
            .filter(|at| spans[*at].0.tree != spans[*at].1.tree)
            .collect();
        let Some(first) = differ.first() else {
            return Ok(());
        };
        let head = |at: &usize| format!("{} {}\n", spans[*at].0.tree, spans[*at].1.tree);
        let asked: String = differ.iter().map(&head).collect();
        let git = self
            .store_git()
            .args(["--literal-pathspecs", "diff-tree", "--stdin", "-r", "-z"]);
        let git = git.args(options).args(["--"]).args(paths);
        let output = git.input(asked.into_bytes()).output_cap(CHANGED_BYTES).run()?;
        let (mut asked, mut at) = (differ.iter().peekable(), *first);
        let mut fields = nul_separated(&output.stdout).map(|field| String::from_utf8_lossy(field).into_owned());
        while let Some(field) = fields.next() {
            // A line of its own names both trees before the files of a span, of which there may be none.
            let mut field = &*field;
            while let Some(rest) = asked.peek().and_then(|next| field.strip_prefix(&head(next))) {
                (at, field) = (*asked.next().unwrap_or(first), rest);
            }
            take(at, field, &mut fields);
        }
        Ok(())
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
