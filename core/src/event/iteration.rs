//! The course of an iteration.

use serde::Serialize;

use super::{
    CancelReason, Changes, Checkpoint, Elsewhere, Exit, IterationCommit, Leftover, Notice, Outcome, Role, SessionId,
    SteeringId,
};
use crate::json::ReadJson;

/// The course of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum IterationEvent {
    /// Preparation of an iteration began: the plan is read, the tree is checkpointed and the prompt is written.
    PreparationStarted {
        iteration: u32,
        /// The adapter that will run: a fallback while the first one is rate-limited.
        adapter: String,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    #[serde(rename = "iteration-started")]
    Started {
        iteration: u32,
        adapter: String,
        /// The requested model; `None` leaves the choice to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        task: Option<String>,
        /// The session that is continued; `None` starts a fresh one.
        resume: Option<SessionId>,
        /// Whether the agent accepts messages while it works.
        live_steering: bool,
        /// The work tree before the agent changed it.
        checkpoint: Option<Checkpoint>,
        prompt_bytes: u64,
        /// Bytes of the prompt that ralph added to the user's text.
        overhead_bytes: u64,
        /// The messages in the prompt. They count as delivered once the session shows that it has read the prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<SteeringId>,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    /// The running iteration was asked to end.
    CancelRequested { iteration: u32, reason: CancelReason },
    /// The agent and all of its processes have ended.
    #[serde(rename = "iteration-ended")]
    Ended {
        iteration: u32,
        outcome: Outcome,
        exit: Option<Exit>,
        duration_ms: u64,
        output_bytes: u64,
    },
    /// The result of the iteration was examined: checkpoint, statistics, plan.
    #[serde(rename = "iteration-settled")]
    Settled {
        iteration: u32,
        checkpoint: Option<Checkpoint>,
        changes: Option<Changes>,
        totals: Option<Changes>,
        /// Whether the tree, HEAD or the boxes of the plan changed; `None` if that could not be determined.
        progress: Option<bool>,
        /// The changes of the iteration were undone; the files are as they were before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undone: bool,
        /// ralph's commit of what the agent left uncommitted. The checkpoint has it as its HEAD.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        committed: Option<IterationCommit>,
        #[serde(default, skip_serializing_if = "Elsewhere::is_empty")]
        elsewhere: Elsewhere,
    },
    /// The session left something for its successor to work in.
    LeftoverFound { leftover: Leftover, notice: Notice },
}

impl IterationEvent {
    /// The notice that the event gives to the user, if any.
    pub fn notice(&self) -> Option<Notice> {
        match self {
            IterationEvent::LeftoverFound { notice, .. } => Some(notice.clone()),
            _ => None,
        }
    }
}
