//! Commits that no branch, no tag and no remote has: git forgets them once HEAD and its reflog do.

use super::{GitError, Repository};

/// Most commits that are counted.
const MOST_COUNTED: usize = 1000;
/// Most commits that are named.
const MOST_NAMED: usize = 10;

/// Commits that are on no branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseCommits {
    /// Name and subject of the newest, newest first.
    pub named: Vec<String>,
    /// Number of all of them, up to a thousand.
    pub count: usize,
}

impl Repository {
    /// Returns the commits below `tip` that are on no branch; `None` if every commit is on one.
    ///
    /// # Errors
    /// [`GitError`], also if there is no such commit any more.
    pub fn loose_commits(&self, tip: &str) -> Result<Option<LooseCommits>, GitError> {
        let log = ["log", "--no-show-signature", "--no-color", "--format=%h %s"];
        let most = format!("--max-count={MOST_COUNTED}");
        let output = self
            .git()
            .args(log)
            .args([&most, tip, "--not", "--branches", "--tags", "--remotes"])
            .run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let named: Vec<String> = text.lines().take(MOST_NAMED).map(str::to_owned).collect();
        let count = text.lines().count();
        Ok((count > 0).then_some(LooseCommits { named, count }))
    }
}
