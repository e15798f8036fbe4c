//! The agents' calls of ralph's own tools.

use serde::{Deserialize, Serialize};

use crate::event::{AgentCall, Event};

/// Maximum number of proposed tasks that are stored. All of them are counted.
const PROPOSED: usize = 100;

/// Calls of ralph's tools in a run.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Calls {
    /// All recorded calls.
    pub count: u32,
    /// Calls in the latest iteration.
    pub count_now: u32,
    /// The latest progress note of the latest iteration's agent.
    pub progress: Option<String>,
    /// Work that agents found outside of the plan, oldest first.
    pub proposed: Vec<ProposedTask>,
    /// Number of proposals.
    pub proposals: u32,
}

/// A task that an agent proposed.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedTask {
    pub iteration: u32,
    pub task: String,
}

impl Calls {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::IterationStarted { .. } => {
                self.count_now = 0;
                self.progress = None;
            }
            Event::AgentCalled { iteration, call } => {
                self.count += 1;
                self.count_now += 1;
                match call {
                    AgentCall::Noted { note } => self.progress = Some(note.to_string()),
                    AgentCall::Proposed { task } => self.propose(*iteration, task),
                    AgentCall::Claimed { .. }
                    | AgentCall::GoalsChecked { .. }
                    | AgentCall::Blocked { .. }
                    | AgentCall::Asked { .. }
                    | AgentCall::CommentAnswered { .. }
                    | AgentCall::PostProposed { .. }
                    | AgentCall::TestsChanged { .. } => {}
                }
            }
            _ => {}
        }
    }

    fn propose(&mut self, iteration: u32, task: &str) {
        self.proposals += 1;
        let is_known = self.proposed.iter().any(|known| known.task == task);
        if !is_known && self.proposed.len() < PROPOSED {
            self.proposed.push(ProposedTask {
                iteration,
                task: task.to_owned(),
            });
        }
    }
}
