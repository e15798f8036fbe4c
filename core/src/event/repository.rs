//! Facts about the repository of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{List, Text};
use crate::json::ReadJson;

/// A commit in ralph's store that holds a snapshot of the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct Checkpoint {
    pub commit: String,
    pub tree: String,
    /// The user's HEAD at that time; `None` before the first commit.
    pub head: Option<String>,
}

/// A commit that ralph made on the user's branch of what an iteration left uncommitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct IterationCommit {
    pub commit: String,
    /// Number of files that differ from the commit before.
    pub files: u32,
}

/// A stash of git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StashEntry {
    pub commit: Text,
    pub message: Text<300>,
}

/// The branch of HEAD, and commits that are on none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadPlace {
    /// The branch that is checked out; `None` if HEAD is detached.
    pub branch: Option<Text>,
    /// The branch that was checked out when the run began; `None` if HEAD was detached.
    pub begun_on: Option<Text>,
    /// An operation that was begun and not finished, such as a rebase.
    pub operation: Option<Text>,
    /// The newest of the commits that are on no branch; `None` if every commit is on one.
    pub tip: Option<Text>,
    /// These commits, newest first, each with its subject.
    pub loose: List<Text<300>, 10>,
    /// Number of further ones.
    pub more: u64,
}

impl HeadPlace {
    /// Whether HEAD is on the branch that the run began with, no commit is on none, and nothing is half done.
    pub fn is_as_begun(&self) -> bool {
        self.branch.is_some() && self.branch == self.begun_on && self.tip.is_none() && self.operation.is_none()
    }
}

/// A state that a session left and its successor works in. The next prompt tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Leftover {
    /// HEAD is on another branch than when the run began, has commits on no branch, or is as it was again.
    Head { place: Box<HeadPlace> },
    /// Stashes that were made or dropped since the iteration began.
    Stashes {
        made: List<StashEntry, 10>,
        gone: List<StashEntry, 10>,
    },
    /// Lock files of git.
    Locks,
    /// Processes, which were ended.
    Processes,
}

/// A repository that is no longer there, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostRepository {
    /// The root of the work tree.
    pub root: PathBuf,
    /// git's directory.
    pub directory: PathBuf,
    pub how: LossKind,
    /// The present place of git's directory, if it was found.
    pub moved_to: Option<PathBuf>,
    /// The branch that was checked out when the run began.
    pub branch: Option<Text>,
    /// The commit of HEAD at the last checkpoint.
    pub head: Option<Text>,
    /// The address of the remote when the run began, without a password.
    pub remote: Option<Text>,
    /// ralph's repository with the checkpoints.
    pub store: Option<PathBuf>,
    /// The reference there to the commit of HEAD when the run began.
    pub history: Option<Text>,
}

/// The way in which a repository was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum LossKind {
    /// git's directory is gone.
    Gone,
    /// Something else is in the place of git's directory.
    Replaced,
    /// The file `.git` no longer leads to git's directory, which is still there.
    Unlinked,
    /// git's directory has none of the commits that it had.
    Emptied,
    /// git does not accept the directory as a repository.
    Unreadable { why: Text },
}
