//! Requests to a running loop and its replies: the vocabulary of its HTTP API, and the client.
//!
//! The run's socket is in the state directory, which only the user can enter. An agent runs as that user. The loop
//! therefore recognises an agent by the process that has connected; an agent may read but not command.

mod address;
mod background;
mod budget;
mod client;
pub mod frames;
pub mod stream;
mod tools;

use std::collections::BTreeMap;

use ralph_core::{
    event::{BackgroundCommand, LimitKind, NewLimits, RunId, Totals, UserCommand},
    limits::LimitUnit,
    run::RunView,
};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

pub use address::{Address, BadAddress};
pub use background::{BackgroundEntry, OUTPUT_END, OUTPUT_FROM, OUTPUT_OVER, StartBackground, StartedBackground};
pub use budget::{BUDGET_VARIABLE, IterationBudget, TokenPrice};
pub use client::{ControlClient, ControlError, ask, is_listened_to, status};
pub use tools::{TEXT_CAP_BYTES, ToolAnswer, ToolCall, ToolRequest};

/// A request to the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlRequest {
    Command {
        command: UserCommand,
    },
    Status,
    /// Starts or ends a background task; allowed to agents as well.
    Background(BackgroundCommand),
    /// Asks whether the client may do something that is not for an agent.
    UserOnly(UserOnlyAction),
    /// Calls one of ralph's own tools, for the agent.
    Tool {
        called: ToolRequest,
        /// Whether the answer may wait until what was begun has ended.
        waits: bool,
    },
}

/// An action that a user takes outside of the run, and that an agent must not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Personal")]
#[serde(rename_all = "kebab-case")]
pub enum UserOnlyAction {
    /// Trusts the project's own files.
    Trust,
    /// Shows the tokens.
    Token,
    /// Serves all runs of the user.
    Web,
    /// Cancels or resumes plans of a batch.
    Many,
}

impl UserOnlyAction {
    /// Returns the subcommand's name.
    pub fn name(self) -> &'static str {
        match self {
            UserOnlyAction::Trust => "trust",
            UserOnlyAction::Token => "token",
            UserOnlyAction::Web => "web",
            UserOnlyAction::Many => "many",
        }
    }
}

/// The rights of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRole {
    /// May do everything.
    User,
    /// Has a read-only token.
    Reader,
    /// The agent, a goal, or another process that the run has started: may only read.
    Agent,
}

/// A request, and the channel for its reply.
#[derive(Debug)]
pub struct PendingRequest {
    pub request: ControlRequest,
    pub role: ClientRole,
    pub reply: oneshot::Sender<ControlReply>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ControlReply {
    /// The command was carried out.
    Done {
        /// A sentence that says what it did.
        text: String,
        /// The number of its first record; `None` if it changed nothing.
        seq: Option<u64>,
    },
    /// A background task was started.
    Started {
        number: u32,
        /// A sentence that says what was done.
        text: String,
    },
    Refused {
        why: String,
    },
    /// Never allowed to an agent, in any phase of the run.
    Forbidden {
        why: String,
    },
    Status {
        status: Box<RunStatus>,
    },
    Tool {
        answer: ToolAnswer,
    },
}

/// A run: what its process knows, what its view answers, and the view itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Status")]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    pub run: RunId,
    /// 0 if no process works on the run.
    pub pid: u32,
    /// The adapter that works on the plan: another than the first one while that is limited.
    pub adapter: String,
    /// Whether the run is over.
    #[serde(default)]
    pub over: bool,
    /// The current phase, in words.
    pub phase: String,
    pub paused: bool,
    /// The current or next task.
    pub task: Option<String>,
    pub totals: Totals,
    /// Set while the agent has neither written nor computed for half of the idle limit or longer.
    pub quiet: Option<Quiet>,
    /// The address at which the run is served over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The limits, in the order in which they are shown; empty in the short form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitUse>,
    /// The view of the records; absent in the short form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<RunView>>,
}

/// A limit, with what was used of it at the time of the last record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitUse {
    pub limit: LimitKind,
    /// Heads a line about it, such as `iterations`.
    pub name: String,
    /// The unit of `used` and `max`.
    pub unit: LimitUnit,
    /// Absent if the agent does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// Whether a part of what is used is computed, for example from prices in the settings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Absent if the run can be given no other limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<ProposedLimit>,
}

/// A higher limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ProposedLimit {
    /// Such as `100 iterations`.
    pub words: String,
    /// The argument of the command `set-limits`.
    pub limits: NewLimits,
    /// The `limits` in the settings of a start: the name of the setting, with its value.
    pub settings: BTreeMap<String, String>,
}

/// An agent that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quiet {
    pub since_ms: u64,
    /// When its iteration is ended unless the agent does something.
    pub until_ms: u64,
}

/// Sends `request` to the loop over the channel `asked`, and waits for the reply.
pub async fn answer(request: ControlRequest, role: ClientRole, asked: &mpsc::Sender<PendingRequest>) -> ControlReply {
    let (reply, replied) = oneshot::channel();
    let over = || ControlReply::Refused {
        why: "the run is over".to_owned(),
    };
    if asked.send(PendingRequest { request, role, reply }).await.is_err() {
        return over();
    }
    replied.await.unwrap_or_else(|_| over())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_nobody_takes_any_more_is_refused() {
        let (asked_in, asked) = mpsc::channel(1);
        drop(asked);
        let reply = answer(ControlRequest::Status, ClientRole::User, &asked_in).await;
        assert!(matches!(reply, ControlReply::Refused { .. }));
    }
}
