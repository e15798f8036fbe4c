//! What an agent says with ralph's own tools.

use serde::{Deserialize, Serialize};

use super::{
    Missing, Question,
    clip::{LIST_CAP, cut, listed},
    question,
};

/// A use of one of ralph's tools that is of account after it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentCall {
    /// It claimed that all is done. A later claim of the same iteration replaces it.
    Claimed {
        /// Why that was refused at once; none if it is judged at the end of the turn.
        reasons: Vec<Missing>,
    },
    /// It had the goals run.
    GoalsChecked {
        passed: u32,
        /// The names of those that did not pass.
        failed: Vec<String>,
    },
    /// It cannot go on with its task.
    Blocked { reason: String },
    /// It asked its user something, and goes on meanwhile.
    Asked {
        /// The number by which it is answered.
        ask: u32,
        question: Box<Question>,
    },
    /// It told how far it is.
    Noted { note: String },
    /// It changed tests on purpose.
    TestsChanged { why: String },
    /// It found work that is not in the plan.
    Proposed { task: String },
}

impl AgentCall {
    /// With its texts cut to what a record may carry.
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
