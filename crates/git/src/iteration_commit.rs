//! Commits uncommitted files on the user's branch, beside what the user's index has staged.
//!
//! The commit is made of plumbing commands on an index of its own, so no hook of the repository runs and nothing is
//! signed. Filters do run, and an agent can have named them: all commands here have the rights of the agent.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::event::IterationCommit;
use ralph_system::paths::{DONE_FILE, PAUSE_FILE};
use thiserror::Error;

use super::{
    GitError, Repository, UNTRACKED_CAP_BYTES,
    process::{self, COMPARE, Git, RawChange, listed, nul_separated, raw_changes},
    user_index::IndexIdentity,
    work_trees::FALLBACK_COMMITTER,
};

/// The name of the index of the commit, in git's directory: the sandbox lets git write there.
const INDEX: &str = "ralph-commit-index";

/// The result of an attempt to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitResult {
    Made(IterationCommit),
    /// No file differs from HEAD but those to leave out.
    Nothing,
    /// The commit was not possible; nothing was changed.
    Hindered(CommitHindrance),
}

/// Why ralph commits nothing on the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum CommitHindrance {
    #[error("a {0} is in progress")]
    Operation(&'static str),
    #[error("files are in conflict")]
    Conflict,
    #[error("no branch is checked out")]
    Detached,
    #[error("git's index is no regular file")]
    OddIndex,
}

/// The files that differ from HEAD in the index or in the work tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uncommitted {
    paths: BTreeSet<PathBuf>,
    untracked: BTreeSet<PathBuf>,
    has_conflict: bool,
}

impl Repository {
    /// Returns the paths that differ from HEAD in the user's index or in the work tree, and untracked ones. Ignored
    /// files are not among them.
    ///
    /// # Errors
    /// [`GitError`] if git cannot tell.
    pub fn uncommitted(&self) -> Result<BTreeSet<PathBuf>, GitError> {
        self.verify(&mut self.state.lock())?;
        if self.user_index_identity()? == IndexIdentity::Odd {
            return Ok(BTreeSet::new()); // no commit is made with it
        }
        let mut found = self.find_uncommitted()?;
        found.paths.append(&mut found.untracked);
        Ok(found.paths)
    }

    /// Commits the files that differ from HEAD, except those of `except`, on the branch that is checked out.
    ///
    /// The user's index gets the committed files, and keeps everything else that it has staged. It changes before the
    /// branch: if the branch moves in the meantime, files are left staged and nothing is lost.
    ///
    /// # Errors
    /// [`GitError`]; no commit was made.
    pub fn commit_uncommitted(&self, except: &BTreeSet<PathBuf>, message: &str) -> Result<CommitResult, GitError> {
        let mut state = self.state.lock();
        self.verify(&mut state)?;
        if self.user_index_identity()? == IndexIdentity::Odd {
            return Ok(CommitResult::Hindered(CommitHindrance::OddIndex));
        }
        let found = self.find_uncommitted()?;
        let untracked = found.untracked.into_iter().filter(|path| !self.is_large(path));
        let mut paths: Vec<PathBuf> = found.paths.into_iter().chain(untracked).collect();
        paths.retain(|path| !except.contains(path) && self.may_be_committed(path));
        if paths.is_empty() && !found.has_conflict {
            return Ok(CommitResult::Nothing);
        }
        if let Some(operation) = self.operation() {
            return Ok(CommitResult::Hindered(CommitHindrance::Operation(operation)));
        }
        if found.has_conflict {
            return Ok(CommitResult::Hindered(CommitHindrance::Conflict));
        }
        let Some(branch) = self.checked_out_branch()? else {
            return Ok(CommitResult::Hindered(CommitHindrance::Detached));
        };
        let index = self.layout.git_dir.join(INDEX);
        let made = self.commit_paths(&branch, &index, &paths, message);
        _ = fs::remove_file(&index); // the next commit overwrites it
        made
    }

    fn commit_paths(
        &self,
        branch: &str,
        index: &Path,
        paths: &[PathBuf],
        message: &str,
    ) -> Result<CommitResult, GitError> {
        let head = self
            .agents_git()
            .args(["rev-parse", "--verify", "--quiet", "HEAD"])
            .run_any()?;
        let head = head.success().then(|| head.line()).transpose()?;
        let base = head.as_deref().unwrap_or(self.empty_tree());
        let git = || self.agents_git().env("GIT_INDEX_FILE", index);
        git().args(["read-tree", base]).run()?;
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        git().args(update).input(listed(paths)).run()?;
        let tree = git().args(["write-tree"]).run()?.line()?;
        let output = git().args(COMPARE).args([&format!("{base}^{{tree}}"), &tree]).run()?;
        let changes: Option<Vec<RawChange>> = raw_changes(&output.stdout).collect();
        let changes = changes.ok_or_else(|| output.unexpected())?;
        if changes.is_empty() {
            return Ok(CommitResult::Nothing);
        }
        let commit = self.write_commit(&tree, head.as_deref(), message)?;
        let entries = changes.iter().flat_map(index_entry).collect();
        let add = ["update-index", "--add", "--replace", "-z", "--index-info"];
        self.users_git().args(add).input(entries).run()?;
        // Zeros stand for a branch without a commit.
        let zeros = "0".repeat(commit.len());
        let old = head.as_deref().unwrap_or(&zeros);
        let message = message.lines().next().unwrap_or_default();
        let reason = format!("commit (ralph): {message}");
        let update = ["update-ref", "-m", &reason, branch, &commit, old];
        self.agents_git().args(update).run()?;
        // The entries have no times yet, so that each `git status` would read their files.
        _ = self.users_git().args(["update-index", "-q", "--refresh"]).run_any(); // git finds out by itself as well
        let files = u32::try_from(changes.len()).unwrap_or(u32::MAX);
        Ok(CommitResult::Made(IterationCommit { commit, files }))
    }

    /// Writes a commit with the user's identity, or ralph's if the user's configuration names none.
    fn write_commit(&self, tree: &str, parent: Option<&str>, message: &str) -> Result<String, GitError> {
        let mut git = self.agents_git();
        if !self
            .agents_git()
            .args(["var", "GIT_COMMITTER_IDENT"])
            .run_any()?
            .success()
        {
            git = FALLBACK_COMMITTER.into_iter().fold(git, Git::setting);
        }
        git = git.args(["commit-tree", "--no-gpg-sign", "-F", "-", tree]);
        if let Some(parent) = parent {
            git = git.args(["-p", parent]);
        }
        git.input(message.as_bytes().to_vec()).run()?.line()
    }

    /// Returns the full name of the checked-out branch; `None` if HEAD is detached.
    fn checked_out_branch(&self) -> Result<Option<String>, GitError> {
        let output = self.agents_git().args(["symbolic-ref", "--quiet", "HEAD"]).run_any()?;
        if !output.success() {
            return Ok(None);
        }
        Ok(Some(output.line()?).filter(|branch| branch.starts_with("refs/heads/")))
    }

    fn find_uncommitted(&self) -> Result<Uncommitted, GitError> {
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        ];
        let output = self.users_git().args(args).run()?;
        parse(&output.stdout).ok_or_else(|| output.unexpected())
    }

    /// Whether a path may be in a commit: it is neither ralph's own nor a file that git could not read.
    fn may_be_committed(&self, path: &Path) -> bool {
        let is_message = path
            .file_name()
            .is_some_and(|name| name == DONE_FILE || name == PAUSE_FILE);
        !is_message && !self.excludes(path) && !self.is_unreadable(path)
    }

    fn is_large(&self, path: &Path) -> bool {
        let metadata = fs::symlink_metadata(self.layout.root.join(path));
        metadata.is_ok_and(|metadata| metadata.len() > UNTRACKED_CAP_BYTES)
    }

    /// Returns a git command on the user's index, with the rights of the agent.
    pub(super) fn users_git(&self) -> Git {
        self.agents_git().env("GIT_INDEX_FILE", self.user_index_path())
    }

    /// Returns a git command with the rights of the agent.
    fn agents_git(&self) -> Git {
        match &self.agents_rights {
            Some(confinement) => self.git().confined(Arc::clone(confinement)),
            None => self.git(),
        }
    }
}

/// Parses `git status --porcelain=v2 -z --no-renames`; `None` if it is not in the documented form.
fn parse(output: &[u8]) -> Option<Uncommitted> {
    let mut found = Uncommitted::default();
    for line in nul_separated(output) {
        match line.first()? {
            // `1 XY …`, the path after 8 words.
            b'1' => {
                let path = line.splitn(9, |&byte| byte == b' ').nth(8)?;
                found.paths.insert(process::path(path));
            }
            // `u XY …`, the path after 10 words.
            b'u' => {
                let path = line.splitn(11, |&byte| byte == b' ').nth(10)?;
                found.paths.insert(process::path(path));
                found.has_conflict = true;
            }
            // A directory is a repository of its own.
            b'?' if line.ends_with(b"/") => {}
            b'?' => {
                found.untracked.insert(process::path(line.get(2..)?));
            }
            _ => return None,
        }
    }
    Some(found)
}

/// Formats a change for `git update-index --index-info`; mode 0 removes the entry.
fn index_entry(change: &RawChange) -> Vec<u8> {
    let [_, mode] = change.modes;
    let mode = if mode.bytes().all(|digit| digit == b'0') {
        "0"
    } else {
        mode
    };
    let head = format!("{mode} {}\t", change.blob_after);
    [head.as_bytes(), change.path, b"\0"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staged_changed_and_untracked_files_are_uncommitted_and_conflicts_are_seen() {
        let output = b"1 M. N... 100644 100644 100644 1 2 staged\0\
            1 .M N... 100644 100644 100644 1 2 a b\0? new\xff\0? inner/\0";
        let found = parse(output).unwrap();
        assert_eq!(found.paths, ["staged", "a b"].map(PathBuf::from).into());
        assert_eq!(found.untracked, [process::path(b"new\xff")].into());
        assert!(!found.has_conflict);
        assert!(parse(b"u UU N... 1 1 1 1 1 2 3 merged\0").unwrap().has_conflict);
    }

    #[test]
    fn anything_else_is_not_guessed_at() {
        assert_eq!(parse(b"2 R. what is this\0"), None);
        assert_eq!(parse(b"1 .M short\0"), None);
    }

    #[test]
    fn a_removed_file_is_removed_from_the_index() {
        let output = b":100644 000000 1a 00 D\0gone\0:000000 100755 00 2b A\0new\0";
        let entries: Vec<u8> = raw_changes(output)
            .flat_map(|change| index_entry(&change.unwrap()))
            .collect();
        assert_eq!(entries, b"0 00\tgone\x00100755 2b\tnew\0");
    }
}
