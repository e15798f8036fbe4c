//! Background tasks as the API tells of them.

use ralph_core::{
    event::{BackgroundResult, Requester},
    run::{BackgroundState, BackgroundTask},
};
use serde::{Deserialize, Serialize};

/// Says where the output that is answered begins, in bytes from the beginning of all that the task has written.
pub const OUTPUT_FROM: &str = "ralph-from";
/// Says where the output ends by now.
pub const OUTPUT_END: &str = "ralph-end";
/// Says that the task has ended, and that nothing more comes.
pub const OUTPUT_OVER: &str = "ralph-over";

/// A background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackgroundEntry {
    pub number: u32,
    /// Who started it.
    pub by: Requester,
    /// What a shell runs.
    pub command: String,
    pub state: BackgroundState,
    pub started_ms: u64,
    /// How long it has run.
    pub age_ms: u64,
    /// None while it runs.
    pub result: Option<BackgroundResult>,
    /// All that it has written, also what is not kept.
    pub output_bytes: u64,
    /// The last line of that, without escape sequences.
    pub last_line: String,
}

impl BackgroundEntry {
    /// `task` with what is known of its output, `output_bytes` of which `last_line` is the last line.
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

/// What a background task is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StartBackground {
    /// What a shell is to run, in the project's directory.
    pub command: String,
}

/// A background task was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct StartedBackground {
    pub number: u32,
    /// What was done, in words.
    pub text: String,
}
