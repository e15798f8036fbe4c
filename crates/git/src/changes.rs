//! Counts the changes between checkpoints.

use std::thread;

use ralph_core::event::{Changes, Checkpoint};

use super::{
    CountedChanges, GitError, NestedChanges, Repository, nested::NestedRepositories, process, scoped_task::ScopedTask,
};

/// The files and lines that differ between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineCounts {
    from: String,
    to: String,
    changes: Changes,
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
        let state = self.state.lock();
        let counted = self.count_changes(&[from], &to.tree, to.head.as_deref(), &state.nested)?;
        Ok(counted.into_iter().next().unwrap_or_default().changes)
    }

    /// Counts the changes from each of several checkpoints to a tree and a HEAD.
    ///
    /// # Errors
    /// As [`Repository::changes`].
    pub(super) fn count_changes(
        &self,
        since: &[&Checkpoint],
        tree: &str,
        head: Option<&str>,
        nested: &NestedRepositories,
    ) -> Result<Vec<CountedChanges>, GitError> {
        let count_commits = || {
            let commits = since.iter().map(|from| self.count_commits(from.head.as_deref(), head));
            commits.collect::<Result<Vec<u32>, _>>()
        };
        let (lines, commits) = thread::scope(|threads| {
            let commits = ScopedTask::start(threads, &count_commits);
            (self.count_lines(since, tree, nested), commits.result())
        });
        let each = lines?.into_iter().zip(commits?);
        let counted = each.map(|(mut lines, commits)| {
            lines.changes.commits = lines.changes.commits.saturating_add(commits);
            lines
        });
        Ok(counted.collect())
    }

    /// Counts the commits that `to` reaches and `from` does not. An orphan branch has no commit.
    pub(super) fn count_commits(&self, from: Option<&str>, to: Option<&str>) -> Result<u32, GitError> {
        let Some(to) = to.filter(|_| from != to) else {
            return Ok(0);
        };
        let known = self.commit_counts.latest(from);
        if let Some(known) = known {
            if known.to == to {
                return Ok(known.commits);
            }
            let (lost, new) = self.count_apart(&known.to, to)?;
            if lost == 0 {
                let commits = known.commits.saturating_add(new);
                self.commit_counts.remember(from, to, commits);
                return Ok(commits);
            }
        }
        let (lost, commits) = match from {
            Some(from) => self.count_apart(from, to)?,
            None => {
                let output = self.git().args(["rev-list", "--count", to]).run()?;
                (0, output.line()?.parse().map_err(|_| output.unexpected())?)
            }
        };
        // After a rewritten history, the commits of the two parts are not those of the whole.
        if lost == 0 {
            self.commit_counts.remember(from, to, commits);
        }
        Ok(commits)
    }

    /// Counts the commits that only `from` reaches, and those that only `to` reaches.
    fn count_apart(&self, from: &str, to: &str) -> Result<(u32, u32), GitError> {
        let range = format!("{from}...{to}");
        let count = ["rev-list", "--left-right", "--count", &range];
        let output = self.git().args(count).run()?;
        let line = output.line()?;
        let counts = line.split_once('\t');
        let counts = counts.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        counts.ok_or_else(|| output.unexpected())
    }

    /// Counts the differences between the trees of some checkpoints and `tree`.
    fn count_lines(
        &self,
        since: &[&Checkpoint],
        tree: &str,
        nested: &NestedRepositories,
    ) -> Result<Vec<CountedChanges>, GitError> {
        let differing = since.iter().filter(|from| from.tree != tree);
        let pairs: String = differing.map(|from| format!("{} {tree}\n", from.tree)).collect();
        if pairs.is_empty() {
            return Ok(vec![CountedChanges::default(); since.len()]);
        }
        let args = [
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "--numstat",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let output = self.store_git().args(args).input(pairs.into_bytes()).run()?;
        // git counts the line with the commit of a repository inside.
        let is_file = |path: &[u8]| !nested.had(&process::path(path));
        let counted = read_lines(&output.stdout, is_file).ok_or_else(|| output.unexpected())?;
        let changes_from = |from: &&Checkpoint| {
            if from.tree == tree {
                return Ok(CountedChanges::default());
            }
            let lines = counted.iter().find(|lines| lines.from == from.tree && lines.to == tree);
            let lines = lines.ok_or_else(|| GitError::Refused {
                command: format!("git diff-tree {} {tree}", from.tree),
                said: "one of them cannot be read".to_owned(),
            })?;
            let nested = self.count_nested(nested, &from.tree, tree)?;
            Ok(CountedChanges {
                changes: nested.iter().map(NestedChanges::counted).fold(lines.changes, sum),
                nested,
            })
        };
        since.iter().map(changes_from).collect()
    }
}

/// Parses the output of `git diff-tree`: for each pair of trees, their names and a line end, then the differing files
/// as `added TAB removed TAB path NUL`. A rename has an empty path, then two paths, each with a NUL.
/// Only files for which `is_file` holds are counted.
fn read_lines(output: &[u8], is_file: impl Fn(&[u8]) -> bool) -> Option<Vec<LineCounts>> {
    let mut all: Vec<LineCounts> = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        if let Some((pair, after)) = take_pair(rest) {
            all.push(pair);
            rest = after;
            continue;
        }
        let changes = &mut all.last_mut()?.changes;
        let mut fields = take_item(&mut rest)?.splitn(3, |&byte| byte == b'\t');
        let (added, removed, path) = (number(fields.next()?)?, number(fields.next()?)?, fields.next()?);
        if path.is_empty() {
            take_item(&mut rest)?;
            take_item(&mut rest)?;
        } else if !is_file(path) {
            continue;
        }
        changes.added += added;
        changes.removed += removed;
        changes.files += 1;
    }
    Some(all)
}

fn sum(one: Changes, other: Changes) -> Changes {
    Changes {
        commits: one.commits.saturating_add(other.commits),
        files: one.files.saturating_add(other.files),
        added: one.added.saturating_add(other.added),
        removed: one.removed.saturating_add(other.removed),
    }
}

/// Takes a line with the names of two trees; `None` if a file comes next, whose line has a tab.
fn take_pair(output: &[u8]) -> Option<(LineCounts, &[u8])> {
    let end = output.iter().position(|&byte| byte == b'\n' || byte == b'\t')?;
    let (line, rest) = output.split_at(end);
    let (from, to) = str::from_utf8(line).ok()?.split_once(' ')?;
    let lines = LineCounts {
        from: from.to_owned(),
        to: to.to_owned(),
        changes: Changes::default(),
    };
    Some((lines, rest.strip_prefix(b"\n")?))
}

/// Takes the bytes before the next NUL.
fn take_item<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|&byte| byte == 0)?;
    let (item, after) = rest.split_at(end);
    *rest = &after[1..];
    Some(item)
}

/// Parses a number of lines; `-` stands for a binary file.
fn number(field: &[u8]) -> Option<u64> {
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
        let output = b"a b\n1\t2\ta file\x00-\t-\timage.png\x003\t0\t\0old\0new\0c b\nd b\n1\t0\tx y\nz\0";
        let lines = |from: &str, files, added, removed| LineCounts {
            from: from.to_owned(),
            to: "b".to_owned(),
            changes: Changes {
                commits: 0,
                files,
                added,
                removed,
            },
        };
        let expected = [lines("a", 3, 4, 2), lines("c", 0, 0, 0), lines("d", 1, 1, 0)];
        assert_eq!(read_lines(output, |_| true).unwrap(), expected);
    }

    #[test]
    fn other_output_is_not_guessed_at() {
        assert_eq!(read_lines(b"a b\n1\t2\0", |_| true), None);
        assert_eq!(read_lines(b"a b\n1\t2\t\0old\0", |_| true), None);
        assert_eq!(read_lines(b"1\t2\tno pair\0", |_| true), None);
        assert_eq!(read_lines(b"a b", |_| true), None);
    }
}
