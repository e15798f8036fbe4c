//! Counts what changed between two checkpoints.

use std::thread;

use super::{GitError, Repository, process};
use crate::event::{Changes, Checkpoint};

/// What of a checkpoint matters for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point<'a> {
    pub(super) tree: &'a str,
    pub(super) head: Option<&'a str>,
}

impl<'a> Point<'a> {
    pub(super) fn of(checkpoint: &'a Checkpoint) -> Self {
        Self {
            tree: &checkpoint.tree,
            head: checkpoint.head.as_deref(),
        }
    }
}

impl Repository {
    /// Counts the commits, files and lines between two checkpoints.
    ///
    /// A renamed file is one file with the lines that differ, a binary one a file without lines. Commits are those that
    /// HEAD reaches and did not reach before, so a rewritten history counts its new commits.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn changes(&self, from: &Checkpoint, to: &Checkpoint) -> Result<Changes, GitError> {
        self.count(Point::of(from), Point::of(to))
    }

    pub(super) fn count(&self, from: Point, to: Point) -> Result<Changes, GitError> {
        let same_head = from.head == to.head;
        let same_tree = from.tree == to.tree;
        match (same_head, same_tree) {
            (true, true) => Ok(Changes::default()),
            (true, false) => self.lines(from, to),
            (false, true) => Ok(Changes {
                commits: self.commits(from, to)?,
                ..Changes::default()
            }),
            (false, false) => thread::scope(|threads| {
                let counting = thread::Builder::new().spawn_scoped(threads, || self.commits(from, to));
                let lines = self.lines(from, to)?;
                let commits = match counting {
                    Ok(counting) => counting.join().expect("counting does not panic")?,
                    Err(_) => self.commits(from, to)?, // no thread is to be had
                };
                Ok(Changes { commits, ..lines })
            }),
        }
    }

    fn commits(&self, from: Point, to: Point) -> Result<u32, GitError> {
        // HEAD of an orphan branch: there is nothing that could be new.
        let Some(head) = to.head else { return Ok(0) };
        let mut git = self.git().args(["rev-list", "--count", head]);
        if let Some(head) = from.head {
            git = git.args([format!("^{head}")]);
        }
        let output = git.run()?;
        output.line()?.parse().map_err(|_| output.unexpected())
    }

    fn lines(&self, from: Point, to: Point) -> Result<Changes, GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--numstat",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let output = self.git().args(args).args([from.tree, to.tree]).run()?;
        count(&output.stdout).ok_or_else(|| output.unexpected())
    }
}

/// Reads `added TAB removed TAB path NUL`; a rename has an empty path and then two, each with NUL.
fn count(output: &[u8]) -> Option<Changes> {
    let mut changes = Changes::default();
    let mut items = process::nul_separated(output);
    while let Some(item) = items.next() {
        let mut fields = item.splitn(3, |&byte| byte == b'\t');
        changes.added += lines(fields.next()?)?;
        changes.removed += lines(fields.next()?)?;
        changes.files += 1;
        if fields.next()?.is_empty() {
            items.next()?;
            items.next()?;
        }
    }
    Some(changes)
}

/// A number of lines; `-` for a binary file.
fn lines(field: &[u8]) -> Option<u64> {
    if field == b"-" {
        Some(0)
    } else {
        str::from_utf8(field).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_and_binary_files_are_one_file_each() {
        let output = b"1\t2\ta file\x00-\t-\timage.png\x003\t0\t\0old\0new\0";
        assert_eq!(
            count(output),
            Some(Changes {
                commits: 0,
                files: 3,
                added: 4,
                removed: 2
            })
        );
    }

    #[test]
    fn other_output_is_not_guessed_at() {
        assert_eq!(count(b"1\t2\0"), None);
        assert_eq!(count(b"1\t2\t\0old\0"), None);
    }
}
