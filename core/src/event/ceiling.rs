//! Limits on what the processes of a session, a goal or a task use together.

use serde::{Deserialize, Serialize};

use super::{List, Text};

/// A limit that a tree of processes exceeded, so that all of them were killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExceededCeiling {
    pub ceiling: Ceiling,
    /// The processes with the most memory, largest first.
    pub largest: List<ProcessMemory>,
}

/// The limit, and the use that exceeded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Ceiling {
    Memory { limit_bytes: u64, used_bytes: u64 },
    Processes { limit: u64, count: u64 },
}

/// The memory of a process. Memory that several processes share is divided among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProcessMemory {
    /// The short name of its program.
    pub name: Text,
    pub bytes: u64,
}
