//! What others may ask of a run that goes on, and what they are answered: the words of its HTTP API, and the client's end.
//!
//! The run's socket lies in the state directory, which only the user can enter. An agent runs as that user: who it is that
//! asks is therefore told apart by the process that has connected, and an agent may look and not command.

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
pub use client::{Client, ControlError, ask, is_listened_to};
pub use tools::{Called, SAID_CAP_BYTES, ToolAnswer, ToolCall};

/// What can be asked of the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Command {
        command: UserCommand,
    },
    Status,
    /// Background tasks are started and ended, by agents as well.
    Background(BackgroundCommand),
    /// Whoever asks is about to do what is not for an agent.
    Personal(Personal),
    /// A tool of ralph's, for the agent.
    Tool {
        called: Called,
        /// Whether the answer may take as long as what was begun.
        waits: bool,
    },
}

/// What a user does without the run, and an agent must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Personal {
    /// Trusts the project's own files.
    Trust,
    /// Has the tokens shown.
    Token,
    /// Serves all runs of the user.
    Web,
    /// Has plans of a batch cancelled or resumed.
    Many,
}

impl Personal {
    /// The subcommand's name.
    pub fn name(self) -> &'static str {
        match self {
            Personal::Trust => "trust",
            Personal::Token => "token",
            Personal::Web => "web",
            Personal::Many => "many",
        }
    }
}

/// On whose behalf a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May do everything.
    User,
    /// Has a token that is for looking.
    Reader,
    /// The agent, a goal, or whatever else the run has started: may look.
    Agent,
}

/// A request, and where its reply goes.
#[derive(Debug)]
pub struct Asked {
    pub request: Request,
    pub role: Role,
    pub reply: oneshot::Sender<Reply>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The command was taken.
    Done {
        /// What it did, in words.
        text: String,
        /// The number of the first record of it; none if it changed nothing.
        seq: Option<u64>,
    },
    /// A background task was started.
    Started {
        number: u32,
        /// What was done, in words.
        text: String,
    },
    Refused {
        why: String,
    },
    /// Not for an agent, whatever the run is doing.
    Forbidden {
        why: String,
    },
    Status {
        status: Box<Status>,
    },
    Tool {
        answer: ToolAnswer,
    },
}

/// The agent that looks at the work of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reviewer {
    pub adapter: String,
    pub model: Option<String>,
    /// It does so now.
    pub reviews: bool,
}

/// A running loop at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub run: RunId,
    pub pid: u32,
    /// The one that works on the plan: another than the first while that is limited.
    pub adapter: String,
    /// Who reviews what it changes.
    #[serde(default)]
    pub reviewer: Option<Reviewer>,
    /// Until when adapters are limited.
    #[serde(default)]
    pub limited: BTreeMap<String, u64>,
    pub plan: PathBuf,
    /// The run is over.
    #[serde(default)]
    pub over: bool,
    /// What the loop does now, in words.
    pub phase: String,
    /// When the phase ends by itself, if it does: the wait's end.
    pub until_ms: Option<u64>,
    /// Set while the agent has neither written nor computed for half of the idle limit or longer.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    /// What the agent does, and since when; none between its tools.
    #[serde(default)]
    pub tool: Option<Tool>,
    pub task: Option<String>,
    pub paused: bool,
    #[serde(default)]
    pub breaker: BreakerStatus,
    pub totals: Totals,
    pub steering: Vec<QueuedSteering>,
    /// What the agent asks to be allowed.
    #[serde(default)]
    pub asks: Vec<PendingAsk>,
    /// Where the run is served over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// All that the records say; none in the short form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<RunView>>,
}

/// An agent that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quiet {
    pub since_ms: u64,
    /// When its iteration is ended unless it does something.
    pub until_ms: u64,
}

/// What the breaker has counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakerStatus {
    pub state: BreakerState,
    /// Why it is not closed.
    pub why: String,
    /// Iterations running without progress.
    pub no_progress: u32,
    /// Iterations running that failed in the same way.
    pub same_error: u32,
    /// Claims running that were refused because goals failed in the same way.
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

/// A question of the agent's that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingAsk {
    pub number: u32,
    pub tool: String,
    pub title: String,
    /// What it asks in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// When it is decided without an answer; none if it waits without end.
    pub until_ms: Option<u64>,
    /// The agent does not wait any more: an answer is in its next prompt.
    #[serde(default)]
    pub missed: bool,
    /// What `always` allows with it from then on.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// Waits for the reply to `request` of the loop that takes what is `asked`.
pub async fn answer(request: Request, role: Role, asked: &mpsc::Sender<Asked>) -> Reply {
    let (reply, replied) = oneshot::channel();
    let over = || Reply::Refused {
        why: "the run is over".to_owned(),
    };
    if asked.send(Asked { request, role, reply }).await.is_err() {
        return over();
    }
    replied.await.unwrap_or_else(|_| over())
}

/// What the agent asks, whole, and what it asked and nobody answered.
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
        let reply = answer(Request::Status, Role::User, &asked_in).await;
        assert!(matches!(reply, Reply::Refused { .. }));
    }
}
