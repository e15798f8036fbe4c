//! Events beside the iterations: waits, troubles, notices, and questions that were not put to the user.

use serde::{Deserialize, Serialize};

use super::Recent;
use crate::event::{AgentSignal, BreakerCause, BreakerState, Event, Notice, Wait, WaitCause};

const WAITS: usize = 1_000;
const TROUBLES: usize = 1_000;
const QUESTIONS: usize = 200;
const NOTICES: usize = 500;

/// Events beside the iterations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
            Event::WaitStarted { wait, why, .. } => self.waits.push(Waited {
                kind: *wait,
                why: why.clone(),
                iteration,
                from_ms: at_ms,
                duration_ms: None,
            }),
            Event::WaitEnded { .. } => {
                if let Some(wait) = self.waits.last_mut() {
                    wait.duration_ms = Some(at_ms.saturating_sub(wait.from_ms));
                }
            }
            Event::BreakerMoved { to, why } => self.troubles.push(Trouble::BreakerMoved {
                iteration,
                to: *to,
                why: why.clone(),
            }),
            Event::AdapterLimited { adapter, until_ms } => self.troubles.push(Trouble::AdapterLimited {
                iteration,
                adapter: adapter.clone(),
                at_ms,
                until_ms: *until_ms,
            }),
            Event::AgentReported {
                iteration,
                signal:
                    AgentSignal::PermissionAsked {
                        text, allowed: false, ..
                    }
                    | AgentSignal::QuestionAsked { text, .. },
            } => self.asked.push(ChannelQuestion {
                iteration: *iteration,
                text: text.clone(),
            }),
            Event::Noticed { notice } => self.notices.push(Noticed {
                at_ms,
                notice: notice.clone(),
            }),
            _ => {}
        }
    }
}

/// A wait of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Noticed {
    pub at_ms: u64,
    pub notice: Notice,
}

/// A question or permission request on the agent's own channel, which the user could not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema), schemars(rename = "Asked"))]
#[serde(rename_all = "camelCase")]
pub struct ChannelQuestion {
    pub iteration: u32,
    pub text: String,
}
