//! Counts the changes between checkpoints; each pair of trees is compared once.

use std::{
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use ralph_core::event::{Changes, Checkpoint};

use super::{
    CountedChanges, GitError, Repository,
    counts::{CommitCount, DiffCounts, LineCounts, Point, find_commits},
    scoped_task::ScopedTask,
    without_git,
};

/// Sends the name of the current tree to the thread that counts lines.
pub(super) struct CurrentTreeSender(mpsc::Sender<String>);

impl CurrentTreeSender {
    pub(super) fn send(self, tree: &str) {
        _ = self.0.send(tree.to_owned()); // if no thread was started, the tree is received later
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
        let (since, to) = ([Point::from_checkpoint(from)], Point::from_checkpoint(to));
        let make = |now: CurrentTreeSender| {
            now.send(to.tree);
            Ok((to.tree.to_owned(), ()))
        };
        let counts = &mut DiffCounts::default();
        let ((), counted) = self.count_in_parallel(counts, &since, to.head, make)?;
        counted.map(|changes| changes.into_iter().next().unwrap_or_default())
    }

    /// Runs `make`, which determines the current tree, and counts the changes since some points in parallel.
    ///
    /// # Errors
    /// The outer error is that of `make`; the inner one is as for [`Repository::changes`].
    pub(super) fn count_in_parallel<T>(
        &self,
        counts: &mut DiffCounts,
        since: &[Point],
        head: Option<&str>,
        make: impl FnOnce(CurrentTreeSender) -> Result<(String, T), GitError>,
    ) -> Result<(T, CountedChanges), GitError> {
        let (sender, tree) = mpsc::channel::<String>();
        let tree = Mutex::new(tree);
        let count_commits = || self.count_commits(&counts.commits, since, head);
        let count_lines = || match tree.lock().unwrap_or_else(PoisonError::into_inner).recv() {
            Ok(tree) => self.count_lines(counts, since, &tree),
            Err(_) => Ok(Vec::new()), // `make` failed
        };
        let ((tree, made), lines, commits) = thread::scope(|threads| {
            let commits = ScopedTask::start(threads, &count_commits);
            let lines = ScopedTask::start(threads, &count_lines);
            let made = make(CurrentTreeSender(sender))?;
            Ok((made, lines.result(), commits.result()))
        })?;
        let counted = lines.and_then(|lines| {
            counts.lines.extend(lines);
            counts.commits = commits?;
            since
                .iter()
                .map(|from| counts.changes(*from, Point { tree: &tree, head }))
                .collect()
        });
        counts.keep(&tree, head);
        Ok((made, counted))
    }

    /// Adds the commit counts since some points to the known ones.
    fn count_commits(
        &self,
        known: &[CommitCount],
        since: &[Point],
        head: Option<&str>,
    ) -> Result<Vec<CommitCount>, GitError> {
        let mut known = known.to_vec();
        // An orphan branch has no HEAD commit, so there can be no new commits.
        let Some(head) = head else { return Ok(known) };
        for from in since.iter().filter(|from| from.head != Some(head)) {
            let commits = match find_commits(&known, from.head, head) {
                Some(commits) => commits,
                None => self.commits(from.head, head)?,
            };
            if !known.contains(&commits) {
                known.push(commits);
            }
        }
        Ok(known)
    }

    fn commits(&self, from: Option<&str>, to: &str) -> Result<CommitCount, GitError> {
        if let Some(count) = from.and_then(|from| self.loose()?.commits_between(from, to)) {
            return Ok(CommitCount {
                from: from.map(str::to_owned),
                to: to.to_owned(),
                count,
                is_onward: true,
            });
        }
        let git = self.git().args(["rev-list", "--count"]);
        let git = match from {
            Some(from) => git.args(["--left-right".to_owned(), format!("{from}...{to}")]),
            None => git.args([to]),
        };
        let output = git.run()?;
        let line = output.line()?;
        let (lost, count) = line.split_once('\t').unwrap_or(("0", &line));
        Ok(CommitCount {
            from: from.map(str::to_owned),
            to: to.to_owned(),
            count: count.parse().map_err(|_| output.unexpected())?,
            is_onward: lost == "0",
        })
    }

    /// Compares the trees of some points with `tree`, except those that were compared before.
    fn count_lines(&self, counts: &DiffCounts, since: &[Point], tree: &str) -> Result<Vec<LineCounts>, GitError> {
        let (mut all, mut pairs) = (Vec::new(), String::new());
        for from in since.iter().filter(|from| counts.lines(from.tree, tree).is_none()) {
            let counted = self
                .loose()
                .and_then(|loose| without_git::changes(loose, &self.layout, from.tree, tree));
            match counted {
                Some(changes) => all.push(LineCounts {
                    from: from.tree.to_owned(),
                    to: tree.to_owned(),
                    changes,
                }),
                None => pairs.extend([from.tree, " ", tree, "\n"]),
            }
        }
        if !pairs.is_empty() {
            all.extend(self.count_lines_by_git(pairs)?);
        }
        Ok(all)
    }

    /// Has git compare pairs of trees; each line of `pairs` has two names.
    fn count_lines_by_git(&self, pairs: String) -> Result<Vec<LineCounts>, GitError> {
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
        let output = self.git().args(args).input(pairs.into_bytes()).run()?;
        read_lines(&output.stdout).ok_or_else(|| output.unexpected())
    }
}

/// Parses the output of `git diff-tree`: for each pair of trees, their names and a line end, then the differing files
/// as `added TAB removed TAB path NUL`. A rename has an empty path, then two paths, each with a NUL.
fn read_lines(output: &[u8]) -> Option<Vec<LineCounts>> {
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
        changes.added += number(fields.next()?)?;
        changes.removed += number(fields.next()?)?;
        changes.files += 1;
        if fields.next()?.is_empty() {
            take_item(&mut rest)?;
            take_item(&mut rest)?;
        }
    }
    Some(all)
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
        assert_eq!(read_lines(output).unwrap(), expected);
    }

    #[test]
    fn other_output_is_not_guessed_at() {
        assert_eq!(read_lines(b"a b\n1\t2\0"), None);
        assert_eq!(read_lines(b"a b\n1\t2\t\0old\0"), None);
        assert_eq!(read_lines(b"1\t2\tno pair\0"), None);
        assert_eq!(read_lines(b"a b"), None);
    }
}
