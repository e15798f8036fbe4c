//! Starts, cancels and records background tasks.

use crate::{
    event::{
        BACKGROUND_COMMAND_CAP_BYTES, BackgroundCommand, BackgroundEnd, BackgroundEvent, BackgroundProgress,
        BackgroundRefusal, BackgroundResult, Event, Requester,
    },
    run::{BackgroundState, RunView},
};

use super::decision::StepDecision;

/// Maximum number of background tasks that run at a time.
const AT_ONCE: u8 = 3;
/// Maximum number of background tasks that agents may start per iteration. Each task takes two records and a directory
/// of output.
const STARTS: u32 = 32;
const STARTS_OF_RUN: u32 = 1_024;

/// Why the loop refuses a request; `None` if it is accepted. The permission rules for the command are checked
/// elsewhere.
pub fn background_refusal(view: &RunView, command: &BackgroundCommand, by: Requester) -> Option<BackgroundRefusal> {
    let limits = &view.settings.background;
    if by == Requester::Agent && !limits.agents {
        return Some(BackgroundRefusal::NotForAgents);
    }
    match command {
        BackgroundCommand::Start { .. } if view.is_over() => Some(BackgroundRefusal::RunOver),
        BackgroundCommand::Start { command } => {
            let running = view.background.alive().count();
            let bytes = command.len();
            if command.trim().is_empty() {
                Some(BackgroundRefusal::NoCommand)
            } else if bytes > BACKGROUND_COMMAND_CAP_BYTES {
                Some(BackgroundRefusal::CommandTooLong { bytes })
            } else if running >= usize::from(AT_ONCE) {
                Some(BackgroundRefusal::TooMany { limit: AT_ONCE.into() })
            } else if by == Requester::Agent && view.background.by_agents_now >= STARTS {
                Some(BackgroundRefusal::UsedUp { limit: STARTS })
            } else if by == Requester::Agent && view.background.by_agents >= STARTS_OF_RUN {
                Some(BackgroundRefusal::UsedUp { limit: STARTS_OF_RUN })
            } else {
                None
            }
        }
        BackgroundCommand::Cancel { number } => {
            let number = *number;
            let Some(task) = view.background.task(number) else {
                return Some(BackgroundRefusal::Unknown { number });
            };
            match (task.state(), by, task.by) {
                (BackgroundState::Ended, ..) => Some(BackgroundRefusal::Ended { number }),
                (BackgroundState::Ending, ..) => Some(BackgroundRefusal::Ending { number }),
                (BackgroundState::Running, Requester::Agent, Requester::User) => {
                    Some(BackgroundRefusal::StartedByUser { number })
                }
                (BackgroundState::Running, Requester::User, _)
                | (BackgroundState::Running, Requester::Agent, Requester::Agent) => None,
            }
        }
    }
}

pub(super) fn asked(decision: &mut StepDecision, command: &BackgroundCommand, by: Requester) {
    if background_refusal(&decision.state.view, command, by).is_some() {
        return;
    }
    let view = &decision.state.view;
    decision.push(match command {
        BackgroundCommand::Start { command } => Event::Background(BackgroundEvent::Started {
            number: view.background.started + 1,
            by,
            command: command.trim().to_owned(),
            cwd: (*view.project).clone(),
        }),
        BackgroundCommand::Cancel { number } => Event::Background(BackgroundEvent::Cancelled { number: *number, by }),
    });
}

/// Records the progress of a running task.
pub(super) fn progressed(decision: &mut StepDecision, number: u32, progress: &BackgroundProgress) {
    let task = decision.state.view.background.task(number);
    if task.is_some_and(|task| task.result.is_none() && task.progress.as_ref() != Some(progress)) {
        let progress = progress.clone();
        decision.push(Event::Background(BackgroundEvent::Progressed { number, progress }));
    }
}

/// Records the end of a task, once.
pub(super) fn ended(decision: &mut StepDecision, number: u32, result: &BackgroundResult) {
    let task = decision.state.view.background.task(number);
    if task.is_some_and(|task| task.result.is_none()) {
        let result = result.clone();
        decision.push(Event::Background(BackgroundEvent::Ended { number, result }));
    }
}

/// Records the loss of the tasks of a killed ralph: their guards have ended them.
pub(super) fn lost(decision: &mut StepDecision, now_ms: u64) {
    let view = &decision.state.view;
    let alive: Vec<(u32, u64)> = view
        .background
        .alive()
        .map(|task| (task.number, task.age_ms(now_ms)))
        .collect();
    for (number, duration_ms) in alive {
        let result = BackgroundResult {
            end: BackgroundEnd::Lost,
            duration_ms,
            output_bytes: 0,
            tail: "".into(),
        };
        decision.push(Event::Background(BackgroundEvent::Ended { number, result }));
    }
}
