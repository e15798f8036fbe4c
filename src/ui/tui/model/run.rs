//! What the records say of the run.

use crate::{
    event::{
        AgentSignal, BreakerState, CancelReason, Changes, Event, Outcome, PausedBy, PlanSnapshot, PlanTask, Record,
        RunId, Settings, SteeringId, StopRequest, Usage,
    },
    words::Line,
};

use super::{
    Log,
    facts::{End, GoalState, Iteration, Message, MessageState, Phase},
};

const HOUR_MS: u64 = 3_600_000;

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
    /// The adapter that runs, which is another than the settings' first while that is limited.
    pub adapter: Option<String>,
    pub breaker: BreakerState,
    /// Why the breaker is not closed.
    pub breaker_why: String,
    /// Goals by name, in the order of the settings.
    pub goals: Vec<(String, GoalState)>,
    /// Texts of the tasks that are set aside until the user says something.
    pub set_aside: Vec<String>,
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

    /// The task that is worked on, or comes next.
    pub fn task(&self) -> Option<&PlanTask> {
        self.plan.current_except(&self.set_aside).filter(|_| !self.is_over())
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
        let gap_ms = match record.event {
            // Nobody worked while there was no ralph.
            Event::RunResumed { .. } | Event::RunReopened { .. } => at_ms.saturating_sub(self.last_ms).cast_signed(),
            Event::ClockMoved { gap_ms } => {
                self.move_with_clock(gap_ms);
                self.last_ms = at_ms;
                gap_ms
            }
            _ => 0,
        };
        self.started_ms = self
            .started_ms
            .map(|started_ms| started_ms.saturating_add_signed(gap_ms));
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

    /// Moves what stands for a duration, as the loop does.
    fn move_with_clock(&mut self, gap_ms: i64) {
        if self.is_busy()
            && let Some(iteration) = self.iterations.last_mut()
        {
            iteration.started_ms = iteration.started_ms.saturating_add_signed(gap_ms);
        }
        self.phase.move_with_clock(gap_ms);
    }

    fn apply_event(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::JournalOpened { run, .. } => self.id = Some(run.clone()),
            Event::RunStarted {
                settings,
                earlier_starts_ms,
                ..
            } => {
                self.take_settings(settings);
                self.starts_ms.clone_from(earlier_starts_ms);
                self.started_ms = Some(at_ms);
            }
            Event::RunResumed { settings, .. } => {
                self.take_settings(settings);
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
            Event::SteeringQueued { id, kind, text } => {
                // The user has said something: it may be the answer.
                self.set_aside.clear();
                self.messages.push(Message {
                    id: *id,
                    kind: *kind,
                    text: text.clone(),
                    state: MessageState::Queued,
                });
            }
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
            Event::RunReopened { .. } => self.reopen(),
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
            Event::VerificationStarted { goals, .. } => {
                self.phase = Phase::Verifying;
                goals.iter().for_each(|name| self.set_goal(name, GoalState::Running));
            }
            Event::GoalChecked { result, .. } => {
                self.set_goal(&result.name, GoalState::Checked(Box::new(result.clone())));
            }
            Event::TaskBlocked { task, .. } => self.set_aside.extend(task.clone()),
            Event::BreakerMoved { to, why } => {
                self.breaker = *to;
                self.breaker_why.clone_from(why);
            }
            // In the log, where they happened.
            Event::ClockMoved { .. }
            | Event::Noticed { .. }
            | Event::Unknown { .. }
            | Event::DetailsOmitted { .. }
            | Event::PlanEdited { .. }
            | Event::AgentStated { .. }
            | Event::ClaimMade { .. }
            | Event::ClaimJudged { .. }
            | Event::ClaimRefused { .. }
            | Event::CompletionDenied { .. }
            | Event::AdapterLimited { .. }
            | Event::WaitEnded { .. } => {}
        }
    }

    fn apply_iteration(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::IterationStarted {
                iteration,
                adapter,
                task,
                live_steering,
                checkpoint,
                ..
            } => {
                if self.adapter.as_ref() != Some(adapter) {
                    // The name of the other adapter's model.
                    self.model = None;
                    self.adapter = Some(adapter.clone());
                }
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
                self.usage = self.usage.plus(*usage);
                if let Some(row) = self.iteration_mut(iteration) {
                    row.usage = row.usage.plus(*usage);
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

    fn take_settings(&mut self, settings: &Settings) {
        self.settings = settings.clone();
        let goals = settings
            .goals
            .iter()
            .map(|goal| (goal.name.clone(), GoalState::Unknown));
        self.goals = goals.collect();
    }

    fn set_goal(&mut self, name: &str, state: GoalState) {
        if let Some((_, known)) = self.goals.iter_mut().find(|(goal, _)| goal == name) {
            *known = state;
        }
    }

    fn reopen(&mut self) {
        self.end = None;
        self.stop = None;
        self.failures = 0;
        self.breaker = BreakerState::Closed;
        self.breaker_why.clear();
        self.phase = Phase::Starting;
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
