//! Decides about each file that differs: taken, gone, or left out and said.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{
    GitError, Repository, UNTRACKED_CAP_BYTES,
    layout::open_regular,
    process::{self, nul_separated},
    status::Status,
};

/// What to do to the index, and what to say about the rest.
#[derive(Default)]
pub(super) struct Work {
    pub(super) add: Vec<PathBuf>,
    pub(super) remove: Vec<PathBuf>,
    pub(super) notices: Vec<String>,
}

impl Work {
    fn leave_out_large(&mut self, path: &Path) {
        let cap = UNTRACKED_CAP_BYTES >> 20;
        self.notices.push(format!(
            "{} is untracked, above {cap} MiB and left out of checkpoints.",
            path.display()
        ));
    }
}

impl Repository {
    /// Decides about each file that differs from the index.
    pub(super) fn sort(&self, status: Status) -> Result<Work, GitError> {
        let mut work = Work::default();
        let mut large = Vec::new();
        for path in status.changed {
            match fs::symlink_metadata(self.layout.root.join(&path)) {
                // Neither file, link nor directory: what was tracked is gone. git cannot take what lies behind a link.
                Ok(metadata) if !is_storable(&metadata) => work.remove.push(path),
                _ if self.is_behind_link(&path) => work.remove.push(path),
                Ok(metadata) if is_large(&metadata) => large.push(path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.notices.push(format!(
                        "{} cannot be read; checkpoints keep its last state.",
                        path.display()
                    ));
                }
                Ok(_) | Err(_) => work.add.push(path),
            }
        }
        let tracked = self.tracked(&large)?;
        for path in large {
            if tracked.contains(&path) {
                work.add.push(path);
            } else {
                work.leave_out_large(&path);
                work.remove.push(path);
            }
        }
        for path in status.untracked {
            match fs::symlink_metadata(self.layout.root.join(&path)) {
                Ok(metadata) if is_large(&metadata) => work.leave_out_large(&path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.notices.push(format!(
                        "{} cannot be read and is left out of checkpoints.",
                        path.display()
                    ));
                }
                Ok(_) => work.add.push(path),
                Err(_) => {} // gone since the scan
            }
        }
        for path in status.nested {
            let path = path.display();
            work.notices.push(format!(
                "{path} is a repository of its own and is left out of checkpoints."
            ));
        }
        Ok(work)
    }

    /// Finds which of some files the user's index has; ralph's has the untracked ones too.
    fn tracked(&self, paths: &[PathBuf]) -> Result<HashSet<PathBuf>, GitError> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let theirs = self.layout.git_dir.join("index");
        if !matches!(open_regular(&theirs), Ok(Some(_))) {
            return Ok(HashSet::new());
        }
        let output = self
            .git()
            .env("GIT_INDEX_FILE", theirs)
            .args(["--literal-pathspecs", "ls-files", "-z", "--"])
            .args(paths)
            .run()?;
        Ok(nul_separated(&output.stdout).map(process::path).collect())
    }

    fn is_readable(&self, path: &Path) -> bool {
        access(self.layout.root.join(path), Access::READ_OK).is_ok()
    }

    fn is_behind_link(&self, path: &Path) -> bool {
        let above = path
            .ancestors()
            .skip(1)
            .filter(|directory| !directory.as_os_str().is_empty());
        above
            .into_iter()
            .any(|directory| self.layout.root.join(directory).is_symlink())
    }
}

fn is_storable(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_symlink() || metadata.is_dir()
}

fn is_large(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > UNTRACKED_CAP_BYTES
}
