//! The agent's silence and its sandbox, which the run's view does not include.
//!
//! Only the loop knows whether an agent is idle, meaning that it neither writes nor computes; it reports this from half
//! of the time limit on. The screen itself only sees that no output arrives, and calls that quiet.

use ralph_core::{
    event::{AgentEvent, AskEvent, Event, IterationEvent, Record, RunEvent, TimeEvent},
    run::{Phase, RunView},
};

/// Minimum length of a silence that is shown.
const QUIET_MS: u64 = 10_000;
/// Remaining time from which the countdown is shown.
const ENDING_MS: u64 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentActivity {
    /// Time of the agent's last output.
    heard_ms: u64,
    idle: Option<IdleReport>,
}

/// The loop's report of an idle agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdleReport {
    told_ms: u64,
    since_ms: u64,
    until_ms: u64,
}

/// How long the agent has been silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// No output; it may be computing.
    Quiet {
        for_ms: u64,
    },
    Idle {
        for_ms: u64,
        limit_ms: u64,
    },
    /// The agent will be stopped soon.
    Ending {
        left_ms: u64,
    },
}

impl AgentActivity {
    /// Notes output of the agent.
    pub fn note_output(&mut self, at_ms: u64) {
        self.heard_ms = self.heard_ms.max(at_ms);
    }

    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::Run(RunEvent::JournalOpened { .. }) => *self = Self::default(),
            Event::Time(TimeEvent::ClockMoved { .. }) | Event::Iteration(IterationEvent::Started { .. }) => {
                self.heard_ms = record.at_ms;
                self.idle = None;
            }
            Event::Agent(AgentEvent::Reported { .. }) | Event::Ask(AskEvent::Answered { .. }) => {
                self.note_output(record.at_ms);
            }
            Event::Agent(AgentEvent::FoundIdle { quiet_ms, left_ms }) => {
                self.idle = Some(IdleReport {
                    told_ms: record.at_ms,
                    since_ms: record.at_ms.saturating_sub(*quiet_ms),
                    until_ms: record.at_ms + left_ms,
                });
            }
            Event::Agent(AgentEvent::FoundActive) => {
                self.idle = None;
                self.note_output(record.at_ms);
            }
            _ => {}
        }
    }

    pub fn silence(&self, run: &RunView, now_ms: u64) -> Option<Silence> {
        // An agent that waits for an answer is not idle.
        if !matches!(run.phase, Phase::Running { .. }) || !run.permissions.pending.is_empty() {
            return None;
        }
        if let Some(idle) = self.idle.filter(|idle| idle.told_ms >= self.heard_ms) {
            let limit_ms = idle.until_ms.saturating_sub(idle.since_ms);
            let left_ms = idle.until_ms.saturating_sub(now_ms);
            return Some(match left_ms <= ENDING_MS.min(limit_ms / 4) {
                true => Silence::Ending { left_ms },
                false => Silence::Idle {
                    for_ms: now_ms.saturating_sub(idle.since_ms),
                    limit_ms,
                },
            });
        }
        let for_ms = now_ms.saturating_sub(self.heard_ms);
        (for_ms >= QUIET_MS).then_some(Silence::Quiet { for_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::permission_asked;

    use crate::tui::testing::{model, running};

    #[test]
    fn an_agent_is_called_idle_only_where_the_loop_says_so_and_until_something_comes() {
        let idle = Event::Agent(AgentEvent::FoundIdle {
            quiet_ms: 300_000,
            left_ms: 300_000,
        });
        let mut watched = model(80, 24, [running(), vec![idle.clone()]].concat());
        let told_ms = watched.now_ms;
        let after = |model: &crate::tui::model::Model, ms| model.activity.silence(&model.run, told_ms + ms);
        let limit_ms = 600_000;
        assert_eq!(
            after(&watched, 12_000),
            Some(Silence::Idle {
                for_ms: 312_000,
                limit_ms
            })
        );
        assert_eq!(after(&watched, 292_000), Some(Silence::Ending { left_ms: 8_000 }));
        watched.activity.note_output(told_ms + 20_000);
        assert_eq!(after(&watched, 25_000), None);
        assert_eq!(after(&watched, 50_000), Some(Silence::Quiet { for_ms: 30_000 }));
        let working = model(
            80,
            24,
            [running(), vec![idle.clone(), Event::Agent(AgentEvent::FoundActive)]].concat(),
        );
        assert_eq!(after(&working, 2_000), None, "it computes and writes nothing");
        let asking = model(80, 24, [running(), vec![idle, permission_asked(1)]].concat());
        assert_eq!(after(&asking, 12_000), None, "it waits for the user");
    }
}
