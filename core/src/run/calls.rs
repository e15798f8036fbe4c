//! The agents' calls of ralph's own tools.

use serde::{Deserialize, Serialize};

use crate::event::{AgentCall, AgentEvent, AskEvent, AskKind, Event, IterationEvent};

/// Maximum number of proposed tasks that are stored. All of them are counted.
const PROPOSED: usize = 100;

/// Calls of ralph's tools in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedTask {
    pub iteration: u32,
    pub task: String,
}

impl Calls {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Iteration(IterationEvent::Started { .. }) => {
                self.count_now = 0;
                self.progress = None;
            }
            Event::Ask(AskEvent::Asked { ask }) if ask.kind == AskKind::Ticket => self.count(),
            Event::Agent(AgentEvent::Called { iteration, call }) => {
                self.count();
                match call {
                    AgentCall::Noted { note } => self.progress = Some(note.to_string()),
                    AgentCall::Proposed { task } => self.propose(*iteration, task),
                    AgentCall::Claimed { .. }
                    | AgentCall::GoalsChecked { .. }
                    | AgentCall::Blocked { .. }
                    | AgentCall::CommentAnswered { .. }
                    | AgentCall::TestsChanged { .. } => {}
                }
            }
            _ => {}
        }
    }

    fn count(&mut self) {
        self.count += 1;
        self.count_now += 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::iteration_started;

    fn called(iteration: u32, call: AgentCall) -> Event {
        Event::Agent(AgentEvent::Called { iteration, call })
    }

    fn noted(note: &str) -> Event {
        called(1, AgentCall::Noted { note: note.into() })
    }

    fn proposed(iteration: u32, task: &str) -> Event {
        called(iteration, AgentCall::Proposed { task: task.into() })
    }

    fn after(events: &[Event]) -> Calls {
        let mut calls = Calls::default();
        events.iter().for_each(|event| calls.apply(event));
        calls
    }

    #[test]
    fn a_new_iteration_has_made_no_calls_and_noted_no_progress() {
        let blocked = called(
            1,
            AgentCall::Blocked {
                reason: "no key".into(),
            },
        );
        let calls = [noted("half"), noted("nearly done"), blocked];
        let before = after(&calls);
        assert_eq!((before.count, before.count_now), (3, 3));
        assert_eq!(before.progress.as_deref(), Some("nearly done"));
        let [first, second, third] = calls;
        let later = after(&[first, second, third, iteration_started(2, None, None)]);
        assert_eq!((later.count, later.count_now, later.progress), (3, 0, None));
    }

    #[test]
    fn a_task_that_is_proposed_again_is_counted_and_stored_once() {
        let calls = after(&[proposed(1, "docs"), proposed(2, "tests"), proposed(2, "docs")]);
        assert_eq!(calls.proposals, 3);
        let stored: Vec<_> = calls
            .proposed
            .iter()
            .map(|known| (known.iteration, known.task.as_str()))
            .collect();
        assert_eq!(stored, [(1, "docs"), (2, "tests")]);
    }

    #[test]
    fn proposals_beyond_the_maximum_are_only_counted() {
        let many: Vec<Event> = (0..150).map(|number| proposed(1, &format!("task {number}"))).collect();
        let calls = after(&many);
        assert_eq!((calls.proposals, calls.proposed.len()), (150, 100));
        assert_eq!(calls.proposed[99].task, "task 99");
    }
}
