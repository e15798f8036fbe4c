//! What the records say of the run.

use crate::{
    event::{
        AgentSignal, CancelReason, Changes, Checkpoint, Delivery, Event, Outcome, PausedBy, PlanSnapshot, Record,
        RunId, Settings, SteeringId, SteeringKind, StopReason, StopRequest, Totals, Usage, Wait,
    },
    narration::Line,
};

use super::Log;

const HOUR_MS: u64 = 3_600_000;

/// What the loop does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Starting,
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
    },
    Ending {
        iteration: u32,
        reason: CancelReason,
    },
    Settling {
        iteration: u32,
    },
    /// The goals are being run.
    Verifying,
    Waiting {
        wait: Wait,
        until_ms: u64,
        attempt: u32,
        why: String,
    },
    /// Paused, and no iteration is running any more.
    Held,
    Stopped,
}

/// One iteration, running or past.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Iteration {
    pub number: u32,
    pub task: Option<String>,
    pub started_ms: u64,
    /// None while it runs.
    pub outcome: Option<Outcome>,
    pub duration_ms: u64,
    pub output_bytes: u64,
    pub changes: Option<Changes>,
    pub progress: Option<bool>,
    pub usage: Usage,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
}

/// A message of the user to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    pub state: MessageState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    Queued,
    Delivered { iteration: u32, how: Delivery },
    Withdrawn,
}

impl Message {
    /// It will be in a prompt yet, so it can be taken back.
    pub fn is_due(&self) -> bool {
        match (self.kind, self.state) {
            (_, MessageState::Withdrawn) => false,
            (SteeringKind::Standing, MessageState::Queued | MessageState::Delivered { .. }) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Queued) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Delivered { .. }) => false,
        }
    }
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub at_ms: u64,
    pub reason: StopReason,
    pub hints: Vec<String>,
    pub totals: Totals,
}

/// The run, as its records tell it.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub id: Option<RunId>,
    pub settings: Settings,
    /// As the agent named it.
    pub model: Option<String>,
    pub plan: PlanSnapshot,
    pub phase: Phase,
    pub iterations: Vec<Iteration>,
    pub totals: Option<Changes>,
    pub usage: Usage,
    pub messages: Vec<Message>,
    pub paused_by_file: bool,
    pub paused_by_user: bool,
    pub stop: Option<StopRequest>,
    /// Consecutive failures.
    pub failures: u32,
    pub live_steering: bool,
    pub end: Option<End>,
    pub log: Log,
    /// When it began, moved by the times in which there was no ralph.
    started_ms: Option<u64>,
    last_ms: u64,
    /// When iterations began, within the last hour.
    starts_ms: Vec<u64>,
}

impl Run {
    pub fn is_paused(&self) -> bool {
        self.paused_by_file || self.paused_by_user
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Whether an agent runs, or is being ended.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Running { .. } | Phase::Ending { .. })
    }

    pub fn current(&self) -> Option<&Iteration> {
        self.iterations.last()
    }

    pub fn iteration(&self, number: u32) -> Option<&Iteration> {
        self.iterations
            .iter()
            .rev()
            .find(|iteration| iteration.number == number)
    }

    pub fn elapsed_ms(&self, now_ms: u64) -> u64 {
        let end_ms = self.end.as_ref().map_or(now_ms, |end| end.at_ms);
        self.started_ms
            .map_or(0, |started_ms| end_ms.saturating_sub(started_ms))
    }

    /// When the agent that runs was started.
    pub fn running_since_ms(&self) -> Option<u64> {
        let iteration = self.iterations.last().filter(|_| self.is_busy())?;
        Some(iteration.started_ms)
    }

    /// Iterations that began within the last hour.
    pub fn calls_within_hour(&self, now_ms: u64) -> usize {
        self.starts_ms.iter().filter(|start| **start + HOUR_MS > now_ms).count()
    }

    /// The moment whole seconds are counted from, while anything that is shown counts them.
    pub fn ticks_from_ms(&self) -> Option<u64> {
        match &self.phase {
            Phase::Starting | Phase::Held | Phase::Stopped => None,
            Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Ending { .. }
            | Phase::Settling { .. }
            | Phase::Verifying => self.started_ms,
            // Countdowns end at a whole second.
            Phase::Waiting { until_ms, .. } => Some(until_ms % 1000),
        }
    }

    /// Applies a record; returns the line it is worth, if it is the loop's own.
    pub fn apply(&mut self, record: &Record, clock: impl Fn(u64) -> String) -> Option<Line> {
        let at_ms = record.at_ms;
        if matches!(record.event, Event::RunResumed { .. }) {
            // Nobody worked while there was no ralph.
            let gap_ms = at_ms.saturating_sub(self.last_ms);
            self.started_ms = self.started_ms.map(|started_ms| started_ms + gap_ms);
        }
        self.last_ms = self.last_ms.max(at_ms);
        self.apply_event(at_ms, &record.event);
        let settled = match &record.event {
            Event::IterationSettled { iteration, .. } => {
                self.iterations.iter().rev().find(|it| it.number == *iteration)
            }
            _ => None,
        };
        self.log.take(record, settled, clock)
    }

    fn apply_event(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::JournalOpened { run, .. } => self.id = Some(run.clone()),
            Event::RunStarted { settings, .. } => {
                self.settings = (**settings).clone();
                self.started_ms = Some(at_ms);
            }
            Event::RunResumed { settings, .. } => {
                self.settings = (**settings).clone();
                self.stop = None;
            }
            Event::PlanRead { plan } => self.plan = plan.clone(),
            Event::PreparationStarted { iteration, .. } => self.phase = Phase::Preparing { iteration: *iteration },
            Event::IterationStarted { .. } | Event::IterationEnded { .. } | Event::IterationSettled { .. } => {
                self.apply_iteration(at_ms, event);
            }
            Event::AgentReported { iteration, signal } => self.apply_signal(*iteration, signal),
            Event::CancelRequested { iteration, reason } => {
                self.phase = Phase::Ending {
                    iteration: *iteration,
                    reason: *reason,
                };
            }
            Event::WaitStarted {
                wait,
                until_ms,
                attempt,
                why,
            } => {
                self.phase = Phase::Waiting {
                    wait: *wait,
                    until_ms: *until_ms,
                    attempt: *attempt,
                    why: why.clone(),
                };
            }
            Event::Paused { by } => self.set_paused(*by, true),
            Event::Unpaused { by } => self.set_paused(*by, false),
            Event::Held => self.phase = Phase::Held,
            Event::SteeringQueued { id, kind, text } => self.messages.push(Message {
                id: *id,
                kind: *kind,
                text: text.clone(),
                state: MessageState::Queued,
            }),
            Event::SteeringDelivered { id, iteration, how } => {
                self.set_message(
                    *id,
                    MessageState::Delivered {
                        iteration: *iteration,
                        how: *how,
                    },
                );
            }
            Event::SteeringWithdrawn { id } => self.set_message(*id, MessageState::Withdrawn),
            Event::StopRequested { stop, .. } => {
                self.stop = Some(self.stop.map_or(*stop, |earlier| earlier.max(*stop)))
            }
            Event::RunStopped { reason, hints, totals } => {
                self.phase = Phase::Stopped;
                self.end = Some(End {
                    at_ms,
                    reason: reason.clone(),
                    hints: hints.clone(),
                    totals: totals.clone(),
                });
            }
            Event::VerificationStarted { .. } => self.phase = Phase::Verifying,
            // In the log, where they happened.
            Event::Noticed { .. }
            | Event::PlanEdited { .. }
            | Event::TaskBlocked { .. }
            | Event::GoalChecked { .. }
            | Event::ClaimMade { .. }
            | Event::ClaimJudged { .. }
            | Event::ClaimRefused { .. }
            | Event::BreakerMoved { .. }
            | Event::AdapterLimited { .. }
            | Event::WaitEnded { .. } => {}
        }
    }

    fn apply_iteration(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::IterationStarted {
                iteration,
                task,
                live_steering,
                checkpoint,
                ..
            } => {
                self.phase = Phase::Running { iteration: *iteration };
                self.live_steering = *live_steering;
                self.starts_ms.retain(|start| start + HOUR_MS > at_ms);
                self.starts_ms.push(at_ms);
                self.iterations.push(Iteration {
                    number: *iteration,
                    task: task.clone(),
                    started_ms: at_ms,
                    before: checkpoint.clone(),
                    ..Iteration::default()
                });
            }
            Event::IterationEnded {
                iteration,
                outcome,
                duration_ms,
                output_bytes,
                ..
            } => {
                self.phase = Phase::Settling { iteration: *iteration };
                match outcome {
                    Outcome::Completed => self.failures = 0,
                    Outcome::Failed { .. } => self.failures += 1,
                    Outcome::Cancelled {
                        reason: CancelReason::IdleTimeout,
                    } => self.failures += 1,
                    Outcome::Cancelled { .. } | Outcome::Interrupted => {}
                }
                if let Some(row) = self.iteration_mut(*iteration) {
                    row.outcome = Some(outcome.clone());
                    row.duration_ms = *duration_ms;
                    row.output_bytes = *output_bytes;
                }
            }
            Event::IterationSettled {
                iteration,
                checkpoint,
                changes,
                totals,
                progress,
            } => {
                if totals.is_some() {
                    self.totals = *totals;
                }
                if let Some(row) = self.iteration_mut(*iteration) {
                    row.after.clone_from(checkpoint);
                    row.changes = *changes;
                    row.progress = *progress;
                }
            }
            _ => {}
        }
    }

    fn apply_signal(&mut self, iteration: u32, signal: &AgentSignal) {
        match signal {
            AgentSignal::Opened { model: Some(model), .. } => self.model = Some(model.clone()),
            AgentSignal::Usage { usage } => {
                self.usage = sum(self.usage, *usage);
                if let Some(row) = self.iteration_mut(iteration) {
                    row.usage = sum(row.usage, *usage);
                }
            }
            _ => {}
        }
    }

    fn iteration_mut(&mut self, number: u32) -> Option<&mut Iteration> {
        self.iterations
            .iter_mut()
            .rev()
            .find(|iteration| iteration.number == number)
    }

    fn set_paused(&mut self, by: PausedBy, paused: bool) {
        match by {
            PausedBy::File => self.paused_by_file = paused,
            PausedBy::User => self.paused_by_user = paused,
        }
    }

    fn set_message(&mut self, id: SteeringId, state: MessageState) {
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == id) {
            message.state = state;
        }
    }
}

fn sum(all: Usage, more: Usage) -> Usage {
    let tokens = |all: Option<u64>, more: Option<u64>| match (all, more) {
        (None, None) => None,
        (all, more) => Some(all.unwrap_or(0).saturating_add(more.unwrap_or(0))),
    };
    Usage {
        input_tokens: tokens(all.input_tokens, more.input_tokens),
        cached_tokens: tokens(all.cached_tokens, more.cached_tokens),
        output_tokens: tokens(all.output_tokens, more.output_tokens),
        cost_usd: match (all.cost_usd, more.cost_usd) {
            (None, None) => None,
            (all, more) => Some(all.unwrap_or(0.0) + more.unwrap_or(0.0)),
        },
    }
}
