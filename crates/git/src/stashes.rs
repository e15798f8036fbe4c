//! Stashes of a repository. They are shared by all of its work trees.

use super::Repository;

/// Most stashes that are listed.
const MOST_LISTED: &str = "--max-count=100";

/// A stash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash {
    pub commit: String,
    /// What git or its user says of it: `WIP on main: 1234567 Subject`.
    pub message: String,
}

impl Repository {
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
