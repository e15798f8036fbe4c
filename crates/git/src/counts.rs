//! Counts between checkpoints, and counts that follow from them without counting again.

use ralph_core::event::{Changes, Checkpoint};

use super::GitError;

/// The parts of a checkpoint that matter for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point<'a> {
    pub(super) tree: &'a str,
    pub(super) head: Option<&'a str>,
}

impl<'a> Point<'a> {
    pub(super) fn from_checkpoint(checkpoint: &'a Checkpoint) -> Self {
        Self {
            tree: &checkpoint.tree,
            head: checkpoint.head.as_deref(),
        }
    }
}

/// The counts up to the latest checkpoint.
#[derive(Debug, Default)]
pub(super) struct DiffCounts {
    pub(super) lines: Vec<LineCounts>,
    pub(super) commits: Vec<CommitCount>,
}

/// The files and lines that differ between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineCounts {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) changes: Changes,
}

/// Number of commits that HEAD reaches at `to` and did not reach at `from`, which is `None` on an orphan branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitCount {
    pub(super) from: Option<String>,
    pub(super) to: String,
    pub(super) count: u32,
    /// Whether `to` still reaches all that `from` did; such counts add up.
    pub(super) is_onward: bool,
}

impl DiffCounts {
    pub(super) fn lines(&self, from: &str, to: &str) -> Option<Changes> {
        if from == to {
            return Some(Changes::default());
        }
        let known = self.lines.iter().find(|lines| lines.from == from && lines.to == to);
        known.map(|lines| lines.changes)
    }

    pub(super) fn commits(&self, from: Option<&str>, to: Option<&str>) -> u32 {
        let to = to.filter(|_| from != to);
        let counted = to.and_then(|to| find_commits(&self.commits, from, to));
        counted.map_or(0, |commits| commits.count)
    }

    /// Returns the changes between two points, both of which were counted.
    pub(super) fn changes(&self, from: Point, to: Point) -> Result<Changes, GitError> {
        let lines = self.lines(from.tree, to.tree).ok_or_else(|| GitError::Refused {
            command: format!("git diff-tree {} {}", from.tree, to.tree),
            said: "one of them cannot be read".to_owned(),
        })?;
        Ok(Changes {
            commits: self.commits(from.head, to.head),
            ..lines
        })
    }

    /// Drops all counts that do not end at this tree and HEAD.
    pub(super) fn keep(&mut self, tree: &str, head: Option<&str>) {
        self.lines.retain(|lines| lines.to == tree);
        self.commits.retain(|commits| Some(&*commits.to) == head);
    }
}

/// Finds a known count from `from` to `to`, or two that add up to it.
pub(super) fn find_commits(known: &[CommitCount], from: Option<&str>, to: &str) -> Option<CommitCount> {
    let begins = || known.iter().filter(|commits| commits.from.as_deref() == from);
    let together = |first: &CommitCount| {
        let second =
            |second: &&CommitCount| second.is_onward && second.from.as_ref() == Some(&first.to) && second.to == to;
        known.iter().find(second).map(|second| CommitCount {
            to: to.to_owned(),
            count: first.count.saturating_add(second.count),
            ..first.clone()
        })
    };
    let whole = begins().find(|commits| commits.to == to).cloned();
    whole.or_else(|| begins().filter(|first| first.is_onward).find_map(together))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(from: &str, to: &str, count: u32, is_onward: bool) -> CommitCount {
        CommitCount {
            from: Some(from.to_owned()),
            to: to.to_owned(),
            count,
            is_onward,
        }
    }

    #[test]
    fn counts_add_up_where_nothing_was_rewritten() {
        let known = [commits("a", "b", 2, true), commits("b", "c", 3, true)];
        assert_eq!(find_commits(&known, Some("a"), "c"), Some(commits("a", "c", 5, true)));
        assert_eq!(find_commits(&known, Some("b"), "c"), Some(commits("b", "c", 3, true)));
        assert_eq!(find_commits(&known, None, "c"), None);
        for rewritten in 0..known.len() {
            let mut known = known.clone();
            known[rewritten].is_onward = false;
            assert_eq!(find_commits(&known, Some("a"), "c"), None);
        }
    }
}
