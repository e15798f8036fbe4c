//! The state of a loop: the fold of its records.

use crate::event::{
    AgentSignal, CancelReason, Changes, Checkpoint, Event, Outcome, PausedBy, PlanSnapshot, Problem, ProblemKind,
    Record, RequestedBy, RunId, SessionId, SessionMode, Settings, SteeringId, SteeringKind, StopReason, StopRequest,
    Totals, Usage, Wait,
};

const HOUR_MS: u64 = 3_600_000;

/// What is known about a run after its records so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoopState {
    pub run: Option<RunId>,
    pub settings: Settings,
    pub promise: String,
    pub phase: Phase,
    pub started_ms: u64,
    /// The time of the latest record.
    pub now_ms: u64,
    /// Number of the latest iteration, from 1.
    pub iteration: u32,
    /// Iterations that count against `maxIterations`: those ended by a rate limit do not.
    pub counted: u32,
    pub plan: PlanSnapshot,
    /// Iterations running that ended with no open task in the plan.
    pub complete_streak: u32,
    pub paused_by_file: bool,
    pub paused_by_user: bool,
    /// The strongest request so far, and the first one who made it.
    pub stop: Option<(StopRequest, RequestedBy)>,
    /// Consecutive iterations that failed.
    pub failures: u32,
    /// What the running iteration reported as its failure.
    pub problem: Option<Problem>,
    /// What the agent said that it repeats a request for, if nothing came of it yet.
    pub holdup: Option<Problem>,
    /// The dialect's verdict on the running turn.
    pub verdict: Option<bool>,
    /// The session that the next iteration continues.
    pub session: Option<SessionId>,
    pub steering: Vec<Steering>,
    /// What the next prompt has to tell the agent about the last iteration.
    pub feedback: Vec<String>,
    pub usage: Usage,
    pub totals: Option<Changes>,
    /// The tree before the first iteration, which totals are counted from.
    pub baseline: Option<Checkpoint>,
    /// The tree after the latest settled iteration.
    pub latest: Option<Checkpoint>,
    /// Trees seen in this run: coming back to one is no progress.
    pub trees: Vec<String>,
    /// When iterations started within the last hour.
    pub starts_ms: Vec<u64>,
    /// Counts phase changes; a timer armed in an earlier phase is ignored.
    pub epoch: u32,
}

/// Where the loop is. Each phase names what it waits for, so each has a way out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Idle,
    /// Plan, checkpoint and prompt are being made.
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
        started_ms: u64,
        live_steering: bool,
    },
    /// The session was asked to end; the reason is remembered because the process takes its time.
    Cancelling {
        iteration: u32,
        started_ms: u64,
        reason: CancelReason,
    },
    /// Checkpoint, statistics and plan are being looked at.
    Settling {
        iteration: u32,
        outcome: Outcome,
    },
    Waiting {
        wait: Wait,
        until_ms: u64,
    },
    Paused,
    Stopped(StopReason),
}

/// A message of the user and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steering {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    pub state: SteeringState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringState {
    Queued,
    Delivered { iteration: u32 },
    Withdrawn,
}

impl Steering {
    /// Belongs into the next prompt.
    pub fn is_due(&self) -> bool {
        match (self.kind, self.state) {
            (_, SteeringState::Withdrawn) => false,
            (SteeringKind::Standing, SteeringState::Queued | SteeringState::Delivered { .. }) => true,
            (SteeringKind::Next | SteeringKind::Now, SteeringState::Queued) => true,
            (SteeringKind::Next | SteeringKind::Now, SteeringState::Delivered { .. }) => false,
        }
    }
}

impl LoopState {
    pub fn is_paused(&self) -> bool {
        self.paused_by_file || self.paused_by_user
    }

    pub fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped(_))
    }

    pub fn run_totals(&self) -> Totals {
        Totals {
            iterations: self.iteration,
            tasks_done: count(self.plan.done()),
            tasks_open: count(self.plan.open()),
            changes: self.totals,
            usage: self.usage,
            elapsed_ms: self.now_ms.saturating_sub(self.started_ms),
        }
    }

    /// Advances the state by one record; the only way it changes.
    pub fn apply(&mut self, record: &Record) {
        self.apply_event(record.at_ms, &record.event);
    }

    pub(super) fn apply_event(&mut self, at_ms: u64, event: &Event) {
        self.now_ms = self.now_ms.max(at_ms);
        match event {
            Event::JournalOpened { run, .. } => self.run = Some(run.clone()),
            Event::RunStarted { settings, promise, .. } => {
                self.settings = (**settings).clone();
                self.promise.clone_from(promise);
                self.started_ms = at_ms;
            }
            Event::RunResumed { settings, .. } => {
                self.settings = (**settings).clone();
                self.stop = None;
            }
            Event::Noticed { .. } => {}
            Event::PlanRead { plan } => self.plan = plan.clone(),
            Event::PreparationStarted { iteration } => self.enter(Phase::Preparing { iteration: *iteration }),
            Event::IterationStarted {
                iteration,
                live_steering,
                checkpoint,
                ..
            } => {
                self.start_iteration(at_ms, *iteration, *live_steering, checkpoint.as_ref());
            }
            Event::AgentReported { signal, .. } => self.apply_signal(signal),
            Event::CancelRequested { iteration, reason } => self.cancel(*iteration, *reason),
            Event::IterationEnded { iteration, outcome, .. } => self.end_iteration(*iteration, outcome),
            Event::IterationSettled { checkpoint, totals, .. } => self.settle(checkpoint.as_ref(), *totals),
            Event::ClaimMade { .. } => {}
            Event::ClaimRefused { reasons, .. } => {
                self.feedback
                    .push(format!("Your claim to be done was refused: {}", reasons.join("; ")));
            }
            Event::WaitStarted { wait, until_ms, .. } => {
                self.enter(Phase::Waiting {
                    wait: *wait,
                    until_ms: *until_ms,
                });
            }
            // The phase stays until the next preparation, hold or stop, which follows in the same step.
            Event::WaitEnded { .. } => {}
            Event::Paused { by } => self.set_paused(*by, true),
            Event::Unpaused { by } => self.set_paused(*by, false),
            Event::Held => self.enter(Phase::Paused),
            Event::SteeringQueued { id, kind, text } => self.steering.push(Steering {
                id: *id,
                kind: *kind,
                text: text.clone(),
                state: SteeringState::Queued,
            }),
            Event::SteeringDelivered { id, iteration, .. } => {
                self.set_steering(*id, SteeringState::Delivered { iteration: *iteration });
            }
            Event::SteeringWithdrawn { id } => self.set_steering(*id, SteeringState::Withdrawn),
            Event::StopRequested { stop, by } => self.request_stop(*stop, *by),
            Event::RunStopped { reason, .. } => self.enter(Phase::Stopped(reason.clone())),
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }

    fn start_iteration(&mut self, at_ms: u64, iteration: u32, live_steering: bool, checkpoint: Option<&Checkpoint>) {
        self.iteration = iteration;
        self.counted += 1;
        self.problem = None;
        self.holdup = None;
        self.verdict = None;
        self.feedback.clear();
        self.starts_ms.retain(|start| start + HOUR_MS > at_ms);
        self.starts_ms.push(at_ms);
        if let Some(checkpoint) = checkpoint {
            self.baseline.get_or_insert_with(|| checkpoint.clone());
            self.remember_tree(&checkpoint.tree);
            self.latest = Some(checkpoint.clone());
        }
        self.enter(Phase::Running {
            iteration,
            started_ms: at_ms,
            live_steering,
        });
    }

    fn cancel(&mut self, iteration: u32, reason: CancelReason) {
        let started_ms = match self.phase {
            Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } => started_ms,
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Settling { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped(_) => self.now_ms,
        };
        self.enter(Phase::Cancelling {
            iteration,
            started_ms,
            reason,
        });
    }

    fn end_iteration(&mut self, iteration: u32, outcome: &Outcome) {
        match outcome {
            Outcome::Completed => {
                self.failures = 0;
                // It went on without what it was denied; the next one should know before it tries.
                let denied = |problem: &&Problem| problem.kind == ProblemKind::PermissionDenied;
                self.feedback
                    .extend(self.problem.as_ref().filter(denied).and_then(failure_feedback));
            }
            Outcome::Failed { problem } => {
                self.failures += 1;
                self.feedback.extend(failure_feedback(problem));
                match problem.kind {
                    ProblemKind::RateLimited { .. } | ProblemKind::QuotaExhausted { .. } => {
                        self.counted = self.counted.saturating_sub(1);
                    }
                    ProblemKind::ContextOverflow | ProblemKind::SessionLost => self.session = None,
                    ProblemKind::NotInstalled
                    | ProblemKind::Auth
                    | ProblemKind::ModelUnknown
                    | ProblemKind::Usage
                    | ProblemKind::Overloaded
                    | ProblemKind::Network
                    | ProblemKind::PermissionDenied
                    | ProblemKind::TurnLimit
                    | ProblemKind::Crashed
                    | ProblemKind::Hung
                    | ProblemKind::Other => {}
                }
            }
            Outcome::Cancelled { reason } => {
                if *reason == CancelReason::IdleTimeout {
                    self.failures += 1;
                }
                self.feedback.extend(cancel_feedback(*reason));
            }
            Outcome::Interrupted => self.feedback.push(CUT_OFF.to_owned()),
        }
        self.enter(Phase::Settling {
            iteration,
            outcome: outcome.clone(),
        });
    }

    fn settle(&mut self, checkpoint: Option<&Checkpoint>, totals: Option<Changes>) {
        if totals.is_some() {
            self.totals = totals;
        }
        if let Some(checkpoint) = checkpoint {
            self.remember_tree(&checkpoint.tree);
            self.latest = Some(checkpoint.clone());
        }
        self.complete_streak = if self.plan.open() == 0 {
            self.complete_streak + 1
        } else {
            0
        };
    }

    fn remember_tree(&mut self, tree: &str) {
        if !self.trees.iter().any(|seen| seen == tree) {
            self.trees.push(tree.to_owned());
        }
    }

    fn apply_signal(&mut self, signal: &AgentSignal) {
        match signal {
            AgentSignal::Opened { session, .. } => {
                if self.settings.session == SessionMode::Resume {
                    self.session.clone_from(session);
                }
            }
            AgentSignal::Usage { usage } => self.usage = self.usage.plus(*usage),
            AgentSignal::Problem { problem } => self.problem = Some(problem.clone()),
            AgentSignal::TurnEnded { ok, .. } => self.verdict = Some(*ok),
            AgentSignal::Retrying { why, kind, .. } => {
                self.holdup = kind.map(|kind| Problem {
                    kind,
                    text: why.clone(),
                });
            }
            AgentSignal::Said { .. }
            | AgentSignal::Thought { .. }
            | AgentSignal::ToolStarted { .. }
            | AgentSignal::ToolEnded { .. }
            | AgentSignal::FileChanged { .. } => self.holdup = None,
            AgentSignal::LimitHit { .. }
            | AgentSignal::PermissionAsked { .. }
            | AgentSignal::QuestionAsked { .. }
            | AgentSignal::Unknown { .. }
            | AgentSignal::Ended { .. } => {}
        }
    }

    fn set_paused(&mut self, by: PausedBy, paused: bool) {
        match by {
            PausedBy::File => self.paused_by_file = paused,
            PausedBy::User => self.paused_by_user = paused,
        }
    }

    fn set_steering(&mut self, id: SteeringId, state: SteeringState) {
        if let Some(steering) = self.steering.iter_mut().find(|steering| steering.id == id) {
            steering.state = state;
        }
    }

    fn request_stop(&mut self, stop: StopRequest, by: RequestedBy) {
        self.stop = Some(match self.stop {
            None => (stop, by),
            // Who first asked for more than "after this iteration" decides the exit code.
            Some((StopRequest::AfterIteration, _)) if stop > StopRequest::AfterIteration => (stop, by),
            Some((earlier, first)) => (earlier.max(stop), first),
        });
    }
}

const CUT_OFF: &str = "The last session was cut off before it could finish. Look at what it left before you go on.";

fn failure_feedback(problem: &Problem) -> Option<String> {
    match problem.kind {
        ProblemKind::PermissionDenied => Some(format!(
            "The last session was denied a permission ({}). Find a way without it.",
            problem.text
        )),
        ProblemKind::TurnLimit => Some("The last session ran out of turns. Go on where it stopped.".to_owned()),
        ProblemKind::ContextOverflow => {
            Some("The last session ran out of context. Work in smaller steps and read less at once.".to_owned())
        }
        ProblemKind::Overloaded
        | ProblemKind::Network
        | ProblemKind::Crashed
        | ProblemKind::Hung
        | ProblemKind::Other => Some(CUT_OFF.to_owned()),
        ProblemKind::NotInstalled
        | ProblemKind::Auth
        | ProblemKind::ModelUnknown
        | ProblemKind::Usage
        | ProblemKind::RateLimited { .. }
        | ProblemKind::QuotaExhausted { .. }
        | ProblemKind::SessionLost => None,
    }
}

fn cancel_feedback(reason: CancelReason) -> Option<String> {
    match reason {
        CancelReason::IdleTimeout => Some(
            "The last session was ended because it neither wrote nor computed anything for too long. \
             Avoid commands that wait for input or never return."
                .to_owned(),
        ),
        CancelReason::IterationTimeout => {
            Some("The last session was ended at its time limit. Work in smaller steps.".to_owned())
        }
        CancelReason::Skipped | CancelReason::Steered => Some(CUT_OFF.to_owned()),
        CancelReason::MaxTime | CancelReason::MaxCost | CancelReason::MaxTokens | CancelReason::Stopped => None,
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
