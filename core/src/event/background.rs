//! Background tasks: commands that outlive the iteration in which they were started, and never the run.

use serde::{Deserialize, Serialize};

use super::{
    Decider, Decision, Exit,
    clip::{clip_start, cut},
};

/// Most bytes of the command of a background task, which is kept whole.
pub const BACKGROUND_COMMAND_CAP_BYTES: usize = 4 * 1024;
/// Most bytes of what a background task has written last.
const TAIL_BYTES: usize = 2 * 1024;

/// Who asks for something that both a user and an agent may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Requester {
    User,
    /// The agent, or whatever else the run has started.
    Agent,
}

/// Why a background task is not there any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BackgroundEnd {
    /// By itself.
    Exited {
        exit: Exit,
    },
    NotStarted {
        why: String,
    },
    /// It had run for as long as it may.
    TimedOut {
        after_ms: u64,
    },
    Cancelled,
    /// The run is over.
    RunOver,
    /// Its guard was killed, and what it guarded was ended.
    Killed,
    /// ralph was killed, and the task with it.
    Lost,
}

/// What is known of a background task after its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackgroundResult {
    pub end: BackgroundEnd,
    pub duration_ms: u64,
    /// All that it wrote, also what was not kept.
    pub output_bytes: u64,
    /// The last lines of it, without escape sequences.
    pub tail: String,
}

/// How far a background task is that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackgroundProgress {
    /// All that it has written, also what is not kept.
    pub output_bytes: u64,
    /// Lines of that, without blank ones.
    pub output_lines: u64,
    /// The last of them, without escape sequences.
    pub last_line: String,
}

impl BackgroundProgress {
    /// The progress with its text cut to what a record may carry.
    #[must_use]
    pub(super) fn bounded(self) -> Self {
        Self {
            last_line: cut(&self.last_line),
            ..self
        }
    }
}

impl BackgroundResult {
    /// The result with its texts cut to what a record may carry.
    #[must_use]
    pub(super) fn bounded(self) -> Self {
        Self {
            end: match self.end {
                BackgroundEnd::NotStarted { why } => BackgroundEnd::NotStarted { why: cut(&why) },
                end @ (BackgroundEnd::Exited { .. }
                | BackgroundEnd::TimedOut { .. }
                | BackgroundEnd::Cancelled
                | BackgroundEnd::RunOver
                | BackgroundEnd::Killed
                | BackgroundEnd::Lost) => end,
            },
            tail: clip_start(&self.tail, TAIL_BYTES),
            ..self
        }
    }
}

/// What is asked about background tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackgroundCommand {
    /// What a shell is to run.
    Start {
        command: String,
    },
    Cancel {
        number: u32,
    },
}

/// Why nothing came of a [`BackgroundCommand`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackgroundRefusal {
    RunOver,
    NoCommand,
    CommandTooLong {
        bytes: usize,
    },
    /// So many run, and there may not be more.
    TooMany {
        limit: u32,
    },
    /// Agents have started as many in the iteration, or in the run, as they may.
    UsedUp {
        limit: u32,
    },
    /// The settings leave background tasks to the user.
    NotForAgents,
    /// The rules do not allow the command to an agent, or leave it to an answer that a task cannot wait for.
    Rules {
        decision: Decision,
        by: Decider,
    },
    Unknown {
        number: u32,
    },
    /// An agent cancels what agents have started.
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

/// What background tasks may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLimits {
    /// How many run at a time.
    pub at_once: u32,
    /// How long one runs; without end if there is none.
    pub timeout_ms: Option<u64>,
    /// What is kept of the output of one, in MiB.
    pub output_mib: u32,
    /// Whether agents may start and cancel them.
    pub agents: bool,
}

impl Default for BackgroundLimits {
    fn default() -> Self {
        Self {
            at_once: 3,
            timeout_ms: Some(3_600_000),
            output_mib: 8,
            agents: true,
        }
    }
}
