//! The preparation of a work tree.

use serde::{Deserialize, Serialize};

use super::{List, Tail, Text};

/// The preparation of a work tree: copies, links, commands and ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreparedTree {
    pub copied_files: u64,
    pub copied_bytes: u64,
    pub linked: List<Text>,
    pub commands: List<TreeCommand>,
    /// The TCP ports that are reserved for it.
    pub ports: List<u16>,
    pub duration_ms: u64,
}

/// A command that prepared a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeCommand {
    pub command: Text,
    pub duration_ms: u64,
    /// The end of its output.
    pub output: Tail,
}
