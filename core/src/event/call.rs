//! The agent's calls of ralph's own tools.

use serde::Serialize;

use super::{CommentAnswer, List, Missing, REASONS, Text};
use crate::json::ReadJson;

/// A call of one of ralph's tools that has an effect beyond its reply.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentCall {
    /// The agent claimed completion. A later claim in the same iteration replaces it.
    Claimed {
        /// Why the claim was refused at once; empty if it is judged at the end of the turn.
        reasons: List<Missing, REASONS>,
    },
    /// The agent had the goals run.
    GoalsChecked {
        passed: u32,
        /// The names of the goals that did not pass.
        failed: List<Text>,
    },
    /// The agent cannot continue with its task.
    Blocked { reason: Text },
    /// The agent reported its progress.
    Noted { note: Text },
    /// The agent changed tests on purpose.
    TestsChanged { why: Text },
    /// The agent found work that is not in the plan.
    Proposed { task: Text },
    /// The agent gave a reason for leaving commented lines as they are.
    CommentAnswered { answer: CommentAnswer },
}
