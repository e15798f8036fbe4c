//! The sandbox of a run's agents, as notices tell of it.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Notice};

/// The sandbox of a run's agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SandboxState {
    On,
    Strict,
    /// At least one agent may do what its user may.
    Unconfined,
}

impl SandboxState {
    /// The sandbox as far as it is known after `event`.
    pub(super) fn after(known: Option<Self>, event: &Event) -> Option<Self> {
        let said = match event {
            Event::RunStarted { .. } | Event::RunResumed { .. } => return None,
            Event::Noticed { notice } => match notice {
                Notice::SandboxOn { .. } => SandboxState::On,
                Notice::SandboxStrict { .. } => SandboxState::Strict,
                Notice::SandboxMissing | Notice::SandboxOff | Notice::AgentUnconfined { .. } => {
                    SandboxState::Unconfined
                }
                _ => return known,
            },
            _ => return known,
        };
        known.filter(|known| *known == SandboxState::Unconfined).or(Some(said))
    }
}
