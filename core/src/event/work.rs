//! The work of an iteration: what differs between its checkpoints.

use serde::{Deserialize, Serialize};

use super::{List, Text};
use crate::json::ReadJson;

/// Differences between two points, including untracked files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct Changes {
    pub commits: u32,
    pub files: u32,
    pub added: u64,
    pub removed: u64,
}

/// The work of an iteration elsewhere than in the files of the project's own repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct Elsewhere {
    /// Changes to repositories inside the work tree: submodules, clones and linked work trees.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub nested: List<NestedWork>,
    /// Files that the agent says it has written, and that no checkpoint has: outside of the project, or ignored.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub unseen: List<Text>,
}

impl Elsewhere {
    pub fn is_empty(&self) -> bool {
        self.nested.is_empty() && self.unseen.is_empty()
    }
}

/// The work in a repository inside the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct NestedWork {
    /// From the root of the work tree.
    pub path: Text,
    pub change: RepositoryChange,
}

/// The change of a repository inside the work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RepositoryChange {
    Appeared,
    Vanished,
    /// Its changes are among those of the iteration.
    Changed {
        changes: Changes,
    },
}
