//! Events beside the iterations: waits, troubles, notices, and questions that were not put to the user.

use serde::{Deserialize, Serialize};

use super::Recent;
use crate::event::{
    AgentEvent, AgentSignal, BreakerCause, BreakerState, Event, Notice, TimeEvent, Wait, WaitCause, WorkerEvent,
};
use crate::json::ReadJson;

const WAITS: usize = 1_000;
const TROUBLES: usize = 1_000;
const QUESTIONS: usize = 200;
const NOTICES: usize = 500;

/// Events beside the iterations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incidents {
    pub waits: Recent<Waited, WAITS>,
    pub troubles: Recent<Trouble, TROUBLES>,
    pub asked: Recent<ChannelQuestion, QUESTIONS>,
    pub notices: Recent<Noticed, NOTICES>,
}

impl Incidents {
    /// Applies an event during or after `iteration`.
    pub(super) fn apply(&mut self, at_ms: u64, iteration: u32, event: &Event) {
        match event {
            Event::Time(TimeEvent::WaitStarted { wait, why, .. }) => self.waits.push(Waited {
                kind: *wait,
                why: why.clone(),
                iteration,
                from_ms: at_ms,
                duration_ms: None,
            }),
            Event::Time(TimeEvent::WaitEnded { .. }) => {
                if let Some(wait) = self.waits.last_mut() {
                    wait.duration_ms = Some(at_ms.saturating_sub(wait.from_ms));
                }
            }
            Event::BreakerMoved { to, why } => self.troubles.push(Trouble::BreakerMoved {
                iteration,
                to: *to,
                why: why.clone(),
            }),
            Event::Worker(WorkerEvent::AdapterLimited { adapter, until_ms }) => {
                self.troubles.push(Trouble::AdapterLimited {
                    iteration,
                    adapter: adapter.clone(),
                    at_ms,
                    until_ms: *until_ms,
                })
            }
            Event::Agent(AgentEvent::Reported {
                iteration,
                signal:
                    AgentSignal::PermissionAsked {
                        text, allowed: false, ..
                    }
                    | AgentSignal::QuestionAsked { text, .. },
            }) => self.asked.push(ChannelQuestion {
                iteration: *iteration,
                text: text.clone(),
            }),
            event => {
                if let Some(notice) = event.notice() {
                    self.notices.push(Noticed { at_ms, notice });
                }
            }
        }
    }
}

/// A wait of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waited {
    pub kind: Wait,
    pub why: WaitCause,
    /// The iteration before the wait.
    pub iteration: u32,
    pub from_ms: u64,
    /// `None` if its end is not in the records.
    pub duration_ms: Option<u64>,
}

/// A problem beside the iterations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Trouble {
    BreakerMoved {
        /// The iteration before the move.
        iteration: u32,
        to: BreakerState,
        why: BreakerCause,
    },
    AdapterLimited {
        iteration: u32,
        adapter: String,
        at_ms: u64,
        until_ms: u64,
    },
}

/// Information for the user that does not change the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Noticed {
    pub at_ms: u64,
    pub notice: Notice,
}

/// A question or permission request on the agent's own channel, which the user could not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Asked")]
#[serde(rename_all = "camelCase")]
pub struct ChannelQuestion {
    pub iteration: u32,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WaitEnd;

    fn after(events: impl IntoIterator<Item = (u64, Event)>) -> Incidents {
        let mut incidents = Incidents::default();
        for (at_ms, event) in events {
            incidents.apply(at_ms, 4, &event);
        }
        incidents
    }

    #[test]
    fn a_wait_is_listed_with_its_duration_once_it_has_ended() {
        let started = |wait| {
            Event::Time(TimeEvent::WaitStarted {
                wait,
                until_ms: 9_000,
                attempt: 1,
                why: WaitCause::CallsUsedUp,
            })
        };
        let cause = WaitEnd::Elapsed;
        let incidents = after([
            (1_000, started(Wait::CallBudget)),
            (1_700, Event::Time(TimeEvent::WaitEnded { cause })),
            (2_000, started(Wait::Backoff)),
        ]);
        let listed: Vec<_> = incidents
            .waits
            .iter()
            .map(|wait| (wait.kind, wait.iteration, wait.from_ms, wait.duration_ms))
            .collect();
        assert_eq!(
            listed,
            [(Wait::CallBudget, 4, 1_000, Some(700)), (Wait::Backoff, 4, 2_000, None)]
        );
    }

    #[test]
    fn limits_and_moves_of_the_breaker_are_troubles_of_the_iteration_before_them() {
        let why = BreakerCause::NoProgress { iterations: 3 };
        let moved = Event::BreakerMoved {
            to: BreakerState::HalfOpen,
            why: why.clone(),
        };
        let limited = Event::Worker(WorkerEvent::AdapterLimited {
            adapter: "codex".to_owned(),
            until_ms: 9_000,
        });
        let incidents = after([(1_000, moved), (2_000, limited)]);
        let expected = [
            Trouble::BreakerMoved {
                iteration: 4,
                to: BreakerState::HalfOpen,
                why,
            },
            Trouble::AdapterLimited {
                iteration: 4,
                adapter: "codex".to_owned(),
                at_ms: 2_000,
                until_ms: 9_000,
            },
        ];
        assert!(incidents.troubles.iter().eq(&expected), "{:?}", incidents.troubles);
    }

    #[test]
    fn what_an_agent_asks_on_its_own_channel_is_listed_unless_it_was_allowed() {
        let asked = |text: &str, allowed| AgentSignal::PermissionAsked {
            id: "1".to_owned(),
            text: text.to_owned(),
            allowed,
        };
        let question = AgentSignal::QuestionAsked {
            id: "2".to_owned(),
            text: "Which key?".to_owned(),
        };
        let signals = [asked("ls", true), asked("rm", false), question];
        let incidents =
            after(signals.map(|signal| (1_000, Event::Agent(AgentEvent::Reported { iteration: 2, signal }))));
        let listed: Vec<_> = incidents
            .asked
            .iter()
            .map(|asked| (asked.iteration, asked.text.as_str()))
            .collect();
        assert_eq!(listed, [(2, "rm"), (2, "Which key?")]);
    }
}
