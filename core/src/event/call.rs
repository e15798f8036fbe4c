//! The agent's calls of ralph's own tools.

use serde::{Deserialize, Serialize};

use super::{
    Missing, Question,
    clip::{LIST_CAP, cut, listed},
    question,
};

/// A call of one of ralph's tools that has an effect beyond its reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentCall {
    /// The agent claimed completion. A later claim in the same iteration replaces it.
    Claimed {
        /// Why the claim was refused at once; empty if it is judged at the end of the turn.
        reasons: Vec<Missing>,
    },
    /// The agent had the goals run.
    GoalsChecked {
        passed: u32,
        /// The names of the goals that did not pass.
        failed: Vec<String>,
    },
    /// The agent cannot continue with its task.
    Blocked { reason: String },
    /// The agent asked the user a question and continues meanwhile.
    Asked {
        /// The number that an answer refers to.
        ask: u32,
        question: Box<Question>,
    },
    /// The agent reported its progress.
    Noted { note: String },
    /// The agent changed tests on purpose.
    TestsChanged { why: String },
    /// The agent found work that is not in the plan.
    Proposed { task: String },
}

impl AgentCall {
    /// Cuts the texts to the size allowed in a record.
    pub(super) fn bounded(self) -> Self {
        match self {
            AgentCall::Claimed { reasons } => AgentCall::Claimed {
                reasons: listed(reasons, Missing::bounded, |count| Missing::More { count }),
            },
            AgentCall::GoalsChecked { passed, mut failed } => {
                failed.truncate(LIST_CAP);
                AgentCall::GoalsChecked {
                    passed,
                    failed: failed.iter().map(|name| cut(name)).collect(),
                }
            }
            AgentCall::Blocked { reason } => AgentCall::Blocked { reason: cut(&reason) },
            AgentCall::Asked { ask, question } => AgentCall::Asked {
                ask,
                question: Box::new(question::bounded(&[*question]).remove(0)),
            },
            AgentCall::Noted { note } => AgentCall::Noted { note: cut(&note) },
            AgentCall::TestsChanged { why } => AgentCall::TestsChanged { why: cut(&why) },
            AgentCall::Proposed { task } => AgentCall::Proposed { task: cut(&task) },
        }
    }
}
