//! What a user can ask of a running loop, whatever user interface or terminal it comes from.

use serde::{Deserialize, Serialize};

use super::{
    AnswerPlace, MESSAGE_CAP_BYTES, NewLimits, PermissionMode, Remember, SteeringId, SteeringKind, StopRequest,
};

/// A wish of the user. Imperative; the machine decides what comes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UserCommand {
    Steer {
        kind: SteeringKind,
        text: String,
    },
    Withdraw {
        id: SteeringId,
    },
    /// Let the running iteration finish and start no other.
    Pause,
    Resume,
    /// End the running iteration and go on with the next.
    Skip,
    /// End a wait and try again.
    RetryNow,
    /// Close the breaker.
    ResetCircuit,
    Stop {
        stop: StopRequest,
    },
    /// Take back a stop that was asked for after the running iteration.
    WithdrawStop,
    /// Answers what an agent asked.
    Answer {
        /// Its number.
        ask: u32,
        answer: Answer,
        #[serde(default)]
        at: AnswerPlace,
    },
    /// Takes back what answers have added.
    Forget {
        rule: String,
    },
    /// Changes what the run may use, for as long as it is not resumed.
    SetLimits {
        limits: NewLimits,
    },
    /// Decides in another way what no rule does, for as long as the run is not resumed.
    SetPermissionMode {
        mode: PermissionMode,
    },
}

/// What somebody says to what an agent asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Answer {
    Allow {
        /// What is allowed with it from now on; it is allowed once if there is nothing.
        #[serde(default)]
        remember: Option<Remember>,
    },
    Deny {
        /// For the agent.
        #[serde(default)]
        message: Option<String>,
    },
    /// To each of its questions what is chosen, by number or label, or said.
    Words { words: Vec<String> },
}

/// Why the loop does not take a command, whatever it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CommandRefusal {
    /// Longer than [`MESSAGE_CAP_BYTES`].
    MessageTooLong { bytes: u64 },
    /// The rule that an answer is to add is none, or does not allow what is asked.
    Rule { ask: u32, why: String },
}

impl UserCommand {
    /// The subcommand by which it is given.
    pub fn name(&self) -> &'static str {
        match self {
            UserCommand::Steer { .. } => "steer",
            UserCommand::Withdraw { .. } => "withdraw",
            UserCommand::Pause => "pause",
            UserCommand::Resume | UserCommand::RetryNow | UserCommand::WithdrawStop => "resume",
            UserCommand::Skip => "skip",
            UserCommand::ResetCircuit => "reset-circuit",
            UserCommand::Stop { .. } => "stop",
            UserCommand::SetLimits { .. } => "continue",
            UserCommand::Answer { .. } => "answer",
            UserCommand::Forget { .. } | UserCommand::SetPermissionMode { .. } => "permissions",
        }
    }

    /// Why the loop does not take this, whatever it does; none if it may.
    pub fn refusal(&self) -> Option<CommandRefusal> {
        match self {
            UserCommand::Steer { text, .. } if text.len() > MESSAGE_CAP_BYTES => Some(CommandRefusal::MessageTooLong {
                bytes: text.len() as u64,
            }),
            UserCommand::Answer {
                answer: Answer::Deny { message: Some(text) },
                ..
            } if text.len() > MESSAGE_CAP_BYTES => Some(CommandRefusal::MessageTooLong {
                bytes: text.len() as u64,
            }),
            UserCommand::Steer { .. }
            | UserCommand::Answer { .. }
            | UserCommand::Forget { .. }
            | UserCommand::SetPermissionMode { .. }
            | UserCommand::SetLimits { .. }
            | UserCommand::Withdraw { .. }
            | UserCommand::Pause
            | UserCommand::Resume
            | UserCommand::Skip
            | UserCommand::RetryNow
            | UserCommand::ResetCircuit
            | UserCommand::WithdrawStop
            | UserCommand::Stop { .. } => None,
        }
    }
}
