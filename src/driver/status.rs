//! A loop's state at a glance, for `ralph status` and the replies of the control socket.

use std::time::Duration;

use crate::{
    command::UserCommand,
    event::{Event, RequestedBy, RunId, SteeringKind, StopReason, StopRequest, Wait},
    host::control::{BreakerStatus, QueuedSteering, Quiet, Reply, Request, Status},
    machine::{Input, LoopState, Phase},
};

use super::{
    perform::millis,
    run::{Driver, DriverError},
};

/// Summarises `state`; `quiet` is what is known of the session that runs.
pub fn status_of(state: &LoopState, pid: u32, quiet: Option<Quiet>) -> Status {
    Status {
        run: state.run.clone().unwrap_or_else(|| RunId(String::new())),
        pid,
        adapter: match &state.adapter[..] {
            "" => state.settings.adapter.clone(),
            adapter => adapter.to_owned(),
        },
        limited: state.limited.clone(),
        plan: state.settings.plan.clone(),
        phase: phase_in_words(state),
        until_ms: match state.phase {
            Phase::Waiting { until_ms, .. } => Some(until_ms),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Cancelling { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Paused
            | Phase::Stopped(_) => None,
        },
        quiet,
        task: state.plan.current().map(|task| task.text.clone()),
        // A run that is over waits for nothing.
        paused: state.is_paused() && !state.is_stopped(),
        breaker: BreakerStatus {
            state: state.breaker.state,
            why: state.breaker.why.clone(),
            no_progress: state.breaker.no_progress,
            same_error: state.breaker.same_error,
        },
        totals: state.run_totals(),
        steering: state
            .steering
            .iter()
            .filter(|steering| steering.is_due())
            .map(|steering| QueuedSteering {
                id: steering.id,
                kind: steering.kind,
                text: steering.text.clone(),
            })
            .collect(),
    }
}

/// Says what the loop does now.
pub fn phase_in_words(state: &LoopState) -> String {
    match &state.phase {
        Phase::Idle => "starting".to_owned(),
        Phase::Preparing { iteration } => format!("preparing iteration {iteration}"),
        Phase::Running { iteration, .. } if state.is_paused() => {
            format!("running iteration {iteration}, paused after it")
        }
        Phase::Running { iteration, .. } => format!("running iteration {iteration}"),
        Phase::Cancelling { iteration, .. } => format!("ending iteration {iteration}"),
        Phase::Settling { iteration, .. } => format!("looking at the result of iteration {iteration}"),
        Phase::Verifying { .. } => "checking the goals".to_owned(),
        Phase::Waiting {
            wait: Wait::Backoff, ..
        } => "waiting before the next try".to_owned(),
        Phase::Waiting {
            wait: Wait::LimitReset, ..
        } => "waiting for the agent's limit to reset".to_owned(),
        Phase::Waiting {
            wait: Wait::CallBudget, ..
        } => "waiting for the next call of the hour".to_owned(),
        Phase::Waiting {
            wait: Wait::Cooldown, ..
        } => "waiting before one last try".to_owned(),
        Phase::Paused if state.paused_by_file => "paused by `.ralph-pause`".to_owned(),
        Phase::Paused => "paused".to_owned(),
        Phase::Stopped(StopReason::Done { verified: true }) => "done".to_owned(),
        Phase::Stopped(StopReason::Done { verified: false }) => "done, unverified".to_owned(),
        Phase::Stopped(_) => "stopped".to_owned(),
    }
}

impl Driver {
    /// Does what was asked over the control socket, and says what came of it.
    pub(super) fn answer(&mut self, request: Request) -> Result<Reply, DriverError> {
        match request {
            Request::Status => Ok(Reply::Status {
                status: {
                    let quiet = self.quiet();
                    Box::new(status_of(self.state(), self.pid, quiet))
                },
            }),
            Request::Command { command } => {
                let events = self.advance(&Input::Command {
                    command: command.clone(),
                    by: RequestedBy::User,
                })?;
                Ok(reply_to(&command, &events))
            }
        }
    }

    /// Looks whether the agent has done nothing for half of the idle limit.
    fn quiet(&mut self) -> Option<Quiet> {
        let idle_ms = self.state().settings.limits.idle_timeout_ms?;
        let (now_ms, lived) = (self.clock.now_ms(), self.clock.lived());
        let quiet = self
            .session
            .as_mut()?
            .long_quiet(lived, Duration::from_millis(idle_ms))?;
        let since_ms = now_ms.saturating_sub(millis(quiet));
        Some(Quiet {
            since_ms,
            until_ms: since_ms.saturating_add(idle_ms),
        })
    }
}

/// Answers whoever gave `command`, by what came of it.
pub(super) fn reply_to(command: &UserCommand, events: &[Event]) -> Reply {
    let done = |text: &str| Reply::Done { text: text.to_owned() };
    let refused = |why: &str| Reply::Refused { why: why.to_owned() };
    if events.is_empty() {
        return refused(match command {
            UserCommand::Steer { .. } => "the message was not taken: the run is over",
            UserCommand::Withdraw { .. } => "no such message waits",
            UserCommand::Pause => "paused already",
            UserCommand::Resume => "not paused",
            UserCommand::Skip => "no iteration is running",
            UserCommand::RetryNow => "nothing is waited for",
            UserCommand::ResetCircuit => "the breaker is closed and has counted nothing",
            UserCommand::Stop { .. } => "stopping already",
        });
    }
    match command {
        UserCommand::Steer { kind, .. } => {
            let id = events.iter().find_map(|event| match event {
                Event::SteeringQueued { id, .. } => Some(id.0),
                _ => None,
            });
            let when = match kind {
                SteeringKind::Next => "goes into the next prompt",
                SteeringKind::Now => "goes to the agent now",
                SteeringKind::Standing => "goes into every prompt from the next on",
            };
            Reply::Done {
                text: format!("message {} {when}", id.unwrap_or_default()),
            }
        }
        UserCommand::Withdraw { .. } => done("withdrawn"),
        UserCommand::Pause => done("the running iteration finishes, the next does not start"),
        UserCommand::Resume => done("goes on"),
        UserCommand::Skip => done("the running iteration is ended, the next follows"),
        UserCommand::RetryNow => done("tries again now"),
        UserCommand::ResetCircuit => done("the breaker is closed"),
        UserCommand::Stop { stop } => done(match stop {
            StopRequest::AfterIteration => "stops after this iteration",
            StopRequest::InOrder => "stops",
            StopRequest::AtOnce => "stops at once",
        }),
    }
}
