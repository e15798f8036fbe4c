//! Tasks that are set aside, and their changes outside of their scopes.

use serde::Serialize;

use super::{AnswerPlace, Checkpoint, LimitKind, List, Text, Usage};
use crate::json::ReadJson;

/// Tasks that are set aside, and their changes outside of their scopes.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
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
    /// The files outside of a task's scope that the work on it has changed so far were determined.
    ScopeChecked {
        iteration: u32,
        task: String,
        outside: List<Text>,
        /// Number of further files that were left out; also more than 0 if the changes could not be determined.
        more: u64,
        /// Whether the task is ticked. Its tick counts once no such file is left, or the user has accepted them.
        ticked: bool,
        /// The tree before the work on the task, if an earlier run began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Checkpoint>,
    },
    /// The user has accepted changes outside of scopes.
    ScopeConfirmed {
        iteration: u32,
        files: List<Text>,
        /// Number of further files.
        more: u64,
        at: AnswerPlace,
        /// The number of the question.
        ask: u32,
    },
}
