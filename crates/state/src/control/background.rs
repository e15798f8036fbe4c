//! Background tasks in the API.

use ralph_core::{
    event::{BackgroundResult, Requester},
    run::{BackgroundState, BackgroundTask},
};
use serde::{Deserialize, Serialize};

/// The header with the offset of the returned output, in bytes from the beginning of all that the task has written.
pub const OUTPUT_FROM: &str = "ralph-from";
/// The header with the current length of the output.
pub const OUTPUT_END: &str = "ralph-end";
/// The header that says that the task has ended and no more output follows.
pub const OUTPUT_OVER: &str = "ralph-over";

/// A background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundEntry {
    pub number: u32,
    /// The requester that started it.
    pub by: Requester,
    /// The shell command.
    pub command: String,
    pub state: BackgroundState,
    pub started_ms: u64,
    /// Its running time so far, or until its end.
    pub age_ms: u64,
    /// `null` while it runs.
    pub result: Option<BackgroundResult>,
    /// Bytes of all its output, including output that is not kept.
    pub output_bytes: u64,
    /// The last line of that output, without escape sequences.
    pub last_line: String,
}

impl BackgroundEntry {
    /// Makes the entry of `task`, whose output has `output_bytes` and ends with `last_line`.
    pub fn new(task: &BackgroundTask, now_ms: u64, output_bytes: u64, last_line: String) -> Self {
        let result = task.result.as_ref();
        Self {
            number: task.number,
            by: task.by,
            command: task.command.clone(),
            state: task.state(),
            started_ms: task.started_ms,
            age_ms: task.age_ms(now_ms),
            result: result.cloned(),
            output_bytes: output_bytes.max(result.map_or(0, |result| result.output_bytes)),
            last_line,
        }
    }
}

/// The request to start a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBackground {
    /// The shell command to run in the project's directory.
    pub command: String,
}

/// The answer after a background task was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct StartedBackground {
    pub number: u32,
    /// A sentence that says what was done.
    pub text: String,
}
