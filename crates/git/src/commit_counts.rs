//! Counts the commits since the beginning of a run without walking through all of them each time.

use std::sync::{Mutex, PoisonError};

use super::{GitError, Repository};

/// Most counts that are remembered: the run's, and that of its present iteration.
const REMEMBERED: usize = 2;

/// The latest counts, each with a line of history in which every commit descends from the one before.
#[derive(Debug, Default)]
pub(super) struct CommitCounts(Mutex<Vec<CommitCount>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct CommitCount {
    /// `None` before the first commit.
    from: Option<String>,
    to: String,
    commits: u32,
}

impl Repository {
    /// Counts the commits that `to` reaches and `from` does not. An orphan branch has no commit.
    pub(super) fn count_commits(&self, from: Option<&str>, to: Option<&str>) -> Result<u32, GitError> {
        let Some(to) = to.filter(|_| from != to) else {
            return Ok(0);
        };
        let known = self.commit_counts.of(from);
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
}

impl CommitCounts {
    fn of(&self, from: Option<&str>) -> Option<CommitCount> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|count| count.from.as_deref() == from).cloned()
    }

    fn remember(&self, from: Option<&str>, to: &str, commits: u32) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|count| count.from.as_deref() != from);
        known.insert(
            0,
            CommitCount {
                from: from.map(str::to_owned),
                to: to.to_owned(),
                commits,
            },
        );
        known.truncate(REMEMBERED);
    }
}
