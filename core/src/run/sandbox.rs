//! The sandbox of a run's agents, as notices tell of it.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Notice, RunEvent};

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
            Event::Run(RunEvent::Started { .. }) | Event::Run(RunEvent::Resumed { .. }) => return None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_notice_tells_the_sandbox_unless_an_agent_was_unconfined() {
        let on = Notice::SandboxOn { abi: 7, hidden: 1 };
        let strict = Notice::SandboxStrict {
            abi: 7,
            hidden: 1,
            hosts: Vec::new().into(),
        };
        let mut state = None;
        for (notice, expected) in [
            (on.clone(), SandboxState::On),
            (strict.clone(), SandboxState::Strict),
            (on, SandboxState::On),
            (Notice::SandboxMissing, SandboxState::Unconfined),
            (strict, SandboxState::Unconfined),
        ] {
            let event = Event::Noticed { notice };
            state = SandboxState::after(state, &event);
            assert_eq!(state, Some(expected), "{event:?}");
        }
    }
}
