//! Limits on what the processes of a session, a goal or a task use together.

use serde::{Deserialize, Serialize};

use super::{List, Text};
use crate::json::ReadJson;

/// A limit that a tree of processes exceeded, so that all of them were killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceededCeiling {
    pub ceiling: Ceiling,
    /// The processes with the most memory, or those that have written the most if a disk is nearly full; largest first.
    pub largest: List<ProcessUse>,
}

/// The limit, and the use that exceeded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Ceiling {
    Memory {
        limit_bytes: u64,
        used_bytes: u64,
    },
    Processes {
        limit: u64,
        count: u64,
    },
    /// The free space of a disk, which other processes may have taken as well.
    Disk {
        low: LowDisk,
    },
}

/// A disk with less free space than runs leave on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LowDisk {
    /// A directory on the disk.
    pub path: Text,
    pub free_bytes: u64,
    pub least_bytes: u64,
}

/// The use by one process: its memory, of memory that several processes share only its part, or the bytes that it has
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUse {
    /// The short name of its program.
    pub name: Text,
    pub bytes: u64,
}
