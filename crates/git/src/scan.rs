//! Finds the differences between the work tree and ralph's index.

use std::{collections::HashSet, path::PathBuf, thread};

use super::{
    GitError, Repository,
    process::{self, GitOutput, nul_separated},
    scoped_task::ScopedTask,
    status::{self, WorkTreeStatus},
};

impl Repository {
    /// Compares the work tree with ralph's index; also returns git's warnings.
    pub(super) fn scan(&self) -> Result<(WorkTreeStatus, Vec<String>), GitError> {
        let included = || self.included();
        let (compared, included) = thread::scope(|threads| {
            let included = (!self.include.is_empty()).then(|| ScopedTask::start(threads, &included));
            (self.compare(), included.map(ScopedTask::result))
        });
        let (mut status, warnings) = compared?;
        if let Some(included) = included {
            let known: HashSet<&PathBuf> = status.untracked.iter().collect();
            let mut beyond = included?;
            beyond.retain(|path| !known.contains(path));
            status.untracked.append(&mut beyond);
        }
        let WorkTreeStatus {
            changed,
            untracked,
            nested,
            links,
            ignored,
            head: _,
            branch: _,
        } = &mut status;
        for paths in [changed, untracked, nested, links, ignored] {
            paths.retain(|path| !self.excludes(path));
        }
        Ok((status, warnings))
    }

    fn compare(&self) -> Result<(WorkTreeStatus, Vec<String>), GitError> {
        // A million ignored files are no reason to do without a checkpoint.
        let output = match self.run_status(Some("--ignored=matching")) {
            Err(GitError::TooMuch { .. }) => self.run_status(None)?,
            output => output?,
        };
        let status = status::parse(&output.stdout).ok_or_else(|| output.unexpected())?;
        let lines = output.stderr.lines().filter(|line| !line.is_empty());
        Ok((status, lines.map(|line| format!("git: {line}.")).collect()))
    }

    fn run_status(&self, ignored: Option<&str>) -> Result<GitOutput, GitError> {
        let args = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--no-ahead-behind",
        ];
        let git = self.own_index_git().args(args).args(ignored);
        // git compares ralph's index with HEAD, and writes no object.
        let git = git.env("GIT_OBJECT_DIRECTORY", self.layout.common_dir.join("objects"));
        // The lock is on ralph's own index, in which git saves what it learned about unchanged files.
        git.env("GIT_OPTIONAL_LOCKS", "1").run()
    }

    /// Finds files outside ralph's index that match a pattern of the setting, ignored or not.
    fn included(&self) -> Result<Vec<PathBuf>, GitError> {
        let git = self.own_index_git().args(["ls-files", "-z", "--others", "--ignored"]);
        let patterns = self.include.iter().map(|pattern| format!("--exclude={pattern}"));
        let output = git.args(patterns).run()?;
        let files = nul_separated(&output.stdout).filter(|path| !path.ends_with(b"/"));
        Ok(files.map(process::path).collect())
    }
}
