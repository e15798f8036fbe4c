//! Requests to a running loop and its replies: the vocabulary of its HTTP API, and the client.
//!
//! The run's socket is in the state directory, which only the user can enter. An agent runs as that user. The loop
//! therefore recognises an agent by the process that has connected; an agent may read but not command.

mod background;
mod client;
pub mod frames;
pub mod stream;
mod tools;

use std::{collections::BTreeMap, path::PathBuf};

use ralph_core::{
    event::{BackgroundCommand, BreakerState, Question, RunId, SteeringId, SteeringKind, Totals, UserCommand},
    run::{OpenAsk, RunView, Tool},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

pub use background::{BackgroundEntry, OUTPUT_END, OUTPUT_FROM, OUTPUT_OVER, StartBackground, StartedBackground};
pub use client::{ControlClient, ControlError, ask, is_listened_to};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(rename = "Personal"))]
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

/// The agent that reviews the work of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reviewer {
    pub adapter: String,
    pub model: Option<String>,
    /// Whether it is reviewing now.
    pub reviews: bool,
}

/// A running loop at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(rename = "Status"))]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    pub run: RunId,
    pub pid: u32,
    /// The adapter that works on the plan: another than the first one while that is limited.
    pub adapter: String,
    /// The agent that reviews its changes.
    #[serde(default)]
    pub reviewer: Option<Reviewer>,
    /// The end of each limited adapter's limit, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub limited: BTreeMap<String, u64>,
    pub plan: PathBuf,
    /// Whether the run is over.
    #[serde(default)]
    pub over: bool,
    /// The current phase, in words.
    pub phase: String,
    /// The end of the phase, if it ends by itself: the end of a wait.
    pub until_ms: Option<u64>,
    /// Set while the agent has neither written nor computed for half of the idle limit or longer.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    /// The tool that the agent is using, and since when; `null` between tools.
    #[serde(default)]
    pub tool: Option<Tool>,
    pub task: Option<String>,
    pub paused: bool,
    #[serde(default)]
    pub breaker: BreakerStatus,
    pub totals: Totals,
    pub steering: Vec<QueuedSteering>,
    /// The agent's open requests for permission, and its questions.
    #[serde(default)]
    pub asks: Vec<PendingAsk>,
    /// The address at which the run is served over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The whole view of the records; absent in the short form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<RunView>>,
}

/// An agent that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quiet {
    pub since_ms: u64,
    /// When its iteration is ended unless the agent does something.
    pub until_ms: u64,
}

/// The breaker's counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakerStatus {
    pub state: BreakerState,
    /// Why it is not closed.
    pub why: String,
    /// Consecutive iterations without progress.
    pub no_progress: u32,
    /// Consecutive iterations that failed in the same way.
    pub same_error: u32,
    /// Consecutive claims that were refused because goals failed in the same way.
    #[serde(default)]
    pub same_goal_failure: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct QueuedSteering {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
}

/// A question of the agent that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingAsk {
    pub number: u32,
    pub tool: String,
    pub title: String,
    /// The questions in the agent's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// When it is decided without an answer; `null` if it waits without end.
    pub until_ms: Option<u64>,
    /// Whether the agent no longer waits: an answer goes into its next prompt.
    #[serde(default)]
    pub missed: bool,
    /// The rules that the answer `always` adds.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Whether the text of the request is truncated.
    #[serde(default)]
    pub cut: bool,
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

/// Returns the agent's open requests with all their fields, and its earlier ones that were not answered.
pub fn asks_json(view: &RunView) -> Value {
    view.open_asks().iter().map(ask_json).collect()
}

fn ask_json(open: &OpenAsk) -> Value {
    let Some(ask) = &open.waits else {
        return json!({
            "number": open.number,
            "iteration": open.iteration,
            "title": open.text,
            "untilMs": null,
            "missed": true,
            "questions": open.questions,
            "rules": open.rules,
        });
    };
    json!({
        "number": ask.number,
        "iteration": ask.iteration,
        "tool": ask.request.tool,
        "title": ask.request.title,
        "askedMs": ask.asked_ms,
        "untilMs": ask.until_ms,
        "request": ask.request,
        "cut": ask.cut,
        "rules": ask.offer.rules,
        "askedBy": ask.offer.asked_by,
    })
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
