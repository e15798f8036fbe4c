//! Stashes of a repository. They are shared by all of its work trees.

use std::{collections::BTreeSet, ffi::OsString, fs, os::unix::fs::MetadataExt, path::Path};

use super::Repository;

/// Most stashes that are listed.
const MOST_LISTED: &str = "--max-count=100";

/// A stash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash {
    pub commit: String,
    /// The description by git or its user: `WIP on main: 1234567 Subject`.
    pub message: String,
}

/// The state of git's log of stashes. It also changes when a stash is made and taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashLog {
    file: Option<FileState>,
    directory: Option<FileState>,
    /// The names of what else is in its directory: when one is new, the directory says nothing of stashes.
    beside: BTreeSet<OsString>,
}

/// The inode of a file and the time of its last change of any kind.
type FileState = (u64, i64, i64);

impl StashLog {
    /// Whether a stash was made or taken between the two states; false if that cannot be told.
    pub fn is_used_since(&self, earlier: &StashLog) -> bool {
        self != earlier && self.beside == earlier.beside
    }
}

impl Repository {
    /// Looks at the log of stashes, unless git keeps its references in tables.
    pub fn stash_log(&self) -> StashLog {
        let directory = self.layout.common_dir.join("logs/refs");
        let file = directory.join("stash");
        let state = |path: &Path| -> Option<FileState> {
            let found = path.symlink_metadata().ok()?;
            Some((found.ino(), found.ctime(), found.ctime_nsec()))
        };
        let names = fs::read_dir(&directory).into_iter().flatten().flatten();
        StashLog {
            file: state(&file),
            directory: state(&directory),
            beside: names
                .map(|entry| entry.file_name())
                .filter(|name| name != "stash")
                .collect(),
        }
    }

    /// Lists the stashes, newest first; none if git cannot be asked.
    pub fn stashes(&self) -> Vec<Stash> {
        let common_dir = &self.layout.common_dir;
        // Asking git costs more than the look of an iteration at most repositories, which have none.
        if !common_dir.join("logs/refs/stash").exists() && !common_dir.join("reftable").exists() {
            return Vec::new();
        }
        let log = [
            "log",
            "--walk-reflogs",
            "--no-show-signature",
            "--no-color",
            "--format=%H %gs",
            MOST_LISTED,
        ];
        let output = self.git().args(log).args(["refs/stash", "--"]).run();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let text = text.unwrap_or_default();
        let stashes = text.lines().filter_map(|line| line.split_once(' '));
        stashes
            .map(|(commit, message)| Stash {
                commit: commit.to_owned(),
                message: message.to_owned(),
            })
            .collect()
    }

    /// Whether other work trees have the same stashes.
    pub fn shares_stashes(&self) -> bool {
        self.layout.git_dir != self.layout.common_dir
    }
}
