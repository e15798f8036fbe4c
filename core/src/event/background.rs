//! Background tasks: commands that may outlive the iteration in which they were started, but not the run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Decider, Decision, ExceededCeiling, Exit, Tail, Text};
use crate::json::ReadJson;

/// Maximum size of a background task's command, in bytes. Commands are never cut.
pub const BACKGROUND_COMMAND_CAP_BYTES: usize = 4 * 1024;
/// Maximum size of a background task's output tail, in bytes.
const TAIL_BYTES: usize = 2 * 1024;

/// The source of a request that both the user and the agent may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requester {
    User,
    /// The agent, or another process that the run started.
    Agent,
}

/// How a background task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BackgroundEnd {
    /// The process exited.
    Exited {
        exit: Exit,
    },
    NotStarted {
        why: Text,
    },
    /// The task reached its time limit.
    TimedOut {
        after_ms: u64,
    },
    Cancelled,
    /// Its processes used more than they may.
    Exceeded {
        exceeded: ExceededCeiling,
    },
    /// The run ended.
    RunOver,
    /// The task's guard process was killed, which ended the task.
    Killed,
    /// ralph was killed, and the task with it.
    Lost,
}

/// The result of a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundResult {
    pub end: BackgroundEnd,
    pub duration_ms: u64,
    /// All bytes that the task wrote, including those that were not kept.
    pub output_bytes: u64,
    /// The last lines of output, without escape sequences.
    pub tail: Tail<TAIL_BYTES>,
}

/// The progress of a running background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundProgress {
    /// All bytes that the task has written, including those that were not kept.
    pub output_bytes: u64,
    /// Lines of output, not counting blank ones.
    pub output_lines: u64,
    /// The last line, without escape sequences.
    pub last_line: Text,
}

/// A request about background tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackgroundCommand {
    /// Start a shell command.
    Start {
        command: String,
    },
    Cancel {
        number: u32,
    },
}

/// Why a [`BackgroundCommand`] was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackgroundRefusal {
    RunOver,
    NoCommand,
    CommandTooLong {
        bytes: usize,
    },
    /// The maximum number of tasks is already running.
    TooMany {
        limit: u32,
    },
    /// Agents have started the maximum number of tasks for the iteration or the run.
    UsedUp {
        limit: u32,
    },
    /// The settings reserve background tasks for the user.
    NotForAgents,
    /// The rules deny the command to agents, or require an answer, which a background task cannot wait for.
    Rules {
        decision: Decision,
        by: Decider,
    },
    Unknown {
        number: u32,
    },
    /// An agent may only cancel tasks that agents started.
    StartedByUser {
        number: u32,
    },
    Ending {
        number: u32,
    },
    Ended {
        number: u32,
    },
}

/// Limits of background tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLimits {
    /// Maximum run time of a task; `None` is unlimited.
    pub timeout_ms: Option<u64>,
    /// Whether agents may start and cancel background tasks.
    pub agents: bool,
}

impl Default for BackgroundLimits {
    fn default() -> Self {
        Self {
            timeout_ms: Some(3_600_000),
            agents: true,
        }
    }
}

/// Background tasks.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BackgroundEvent {
    /// A background command was started. It may outlive the iteration, but not the run.
    #[serde(rename = "background-started")]
    Started {
        /// Number of the background task within the run, from 1.
        number: u32,
        by: Requester,
        /// The shell command.
        command: String,
        cwd: PathBuf,
    },
    /// A background task has written more output. Recorded after one second, then at doubling intervals up to one
    /// minute.
    #[serde(rename = "background-progressed")]
    Progressed { number: u32, progress: BackgroundProgress },
    /// A background task was asked to end early.
    #[serde(rename = "background-cancelled")]
    Cancelled { number: u32, by: Requester },
    /// A background task and all of its processes have ended.
    #[serde(rename = "background-ended")]
    Ended { number: u32, result: BackgroundResult },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_2_kib_of_the_output_are_kept() {
        let result = |output: String| BackgroundResult {
            end: BackgroundEnd::Cancelled,
            duration_ms: 1,
            output_bytes: output.len() as u64,
            tail: output.into(),
        };
        assert_eq!(result("x".repeat(2_048)).tail.len(), 2_048);
        let long = result("x".repeat(2_048) + "the end");
        assert!(long.tail.len() <= 2_048 && long.tail.ends_with("xthe end"));
    }
}
