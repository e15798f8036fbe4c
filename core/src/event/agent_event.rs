//! Events of an agent.

use serde::Serialize;

use super::{AgentCall, AgentSignal, AgentStatus, Claim, CommentAnswer, ReviewAnswer};
use crate::json::ReadJson;

/// Events of the agent of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    #[serde(rename = "agent-reported")]
    Reported { iteration: u32, signal: AgentSignal },
    /// The agent reports more details than the journal keeps of an iteration; the rest is in the signal log of the
    /// iteration.
    DetailsOmitted { iteration: u32 },
    /// The agent's statement about its own work, read from its complete last message at the end of the turn and from
    /// the file it left. It is judged when the result of the iteration has been examined, and replaces earlier
    /// statements.
    #[serde(rename = "agent-stated")]
    Stated {
        iteration: u32,
        claims: Vec<Claim>,
        /// Why the agent cannot continue.
        blocked: Option<String>,
        /// The agent's own words that the work is not done.
        denies_done: Option<String>,
        /// The question at the end of the message.
        question: Option<String>,
        /// The complete `RALPH_STATUS` block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<AgentStatus>,
        /// The agent's answer, if it was asked for a review.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewAnswer>,
        /// The agent's reason for changing tests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests_changed: Option<String>,
        /// The agent's reasons for leaving commented lines as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        comments: Vec<CommentAnswer>,
    },
    /// The agent used one of ralph's tools in a way that affects the run.
    #[serde(rename = "agent-called")]
    Called { iteration: u32, call: AgentCall },
    /// The agent neither writes nor uses CPU time.
    #[serde(rename = "agent-found-idle")]
    FoundIdle {
        quiet_ms: u64,
        /// Time until it is stopped.
        left_ms: u64,
    },
    /// An idle agent became active again.
    #[serde(rename = "agent-found-active")]
    FoundActive,
}
