//! The latest counts of commits, so that a long run does not walk through all of its own each time.

use parking_lot::Mutex;

/// Most counts that are remembered: the run's, and that of its present iteration.
const REMEMBERED: usize = 2;

/// The latest counts, each with a line of history in which every commit descends from the one before.
#[derive(Debug, Default)]
pub(super) struct CommitCounts(Mutex<Vec<CommitCount>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitCount {
    /// `None` before the first commit.
    from: Option<String>,
    pub(super) to: String,
    pub(super) commits: u32,
}

impl CommitCounts {
    /// Returns the latest count from a commit.
    pub(super) fn latest(&self, from: Option<&str>) -> Option<CommitCount> {
        let known = self.0.lock();
        known.iter().find(|count| count.from.as_deref() == from).cloned()
    }

    /// Keeps a count whose `to` descends from `from`.
    pub(super) fn remember(&self, from: Option<&str>, to: &str, commits: u32) {
        let mut known = self.0.lock();
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
