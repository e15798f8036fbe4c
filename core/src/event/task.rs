//! Tasks that are set aside.

use serde::Serialize;

use super::{LimitKind, Text, Usage};
use crate::json::ReadJson;

/// Tasks that are set aside.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TaskEvent {
    /// The agent cannot continue with a task, which is set aside until the user replies.
    #[serde(rename = "task-blocked")]
    Blocked {
        iteration: u32,
        task: Option<String>,
        question: Text,
    },
    /// A task reached its limit and is set aside until the user raises it.
    #[serde(rename = "task-set-aside")]
    SetAside {
        iteration: u32,
        task: String,
        limit: LimitKind,
        /// Iterations spent on the task.
        iterations: u32,
        /// Usage reported by these iterations.
        usage: Usage,
    },
    /// The user has set a task aside: the run works on other tasks and is done without it.
    #[serde(rename = "task-set-aside-by-user")]
    SetAsideByUser { task: String },
    /// The user has taken back a task that they had set aside.
    #[serde(rename = "task-taken-back")]
    TakenBack { task: String },
}
