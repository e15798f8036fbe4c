//! The state of a loop: the fold of its records.

use std::collections::BTreeMap;

use crate::event::{
    CancelReason, Changes, Checkpoint, Claim, Event, GoalResult, Outcome, PlanSnapshot, Problem, ProblemKind, Record,
    RequestedBy, RunId, SessionId, SessionMode, Settings, SteeringId, StopRequest, Usage,
};

use super::{
    Statement,
    breaker::{Breaker, Observation},
    budget::Budget,
    feedback::{self, Feedback},
    phase::{Block, Phase, Steering, SteeringState},
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
    /// When the phase was entered.
    pub entered_ms: u64,
    /// The time of the latest record.
    pub now_ms: u64,
    /// Number of the latest iteration, from 1.
    pub iteration: u32,
    /// Iterations that count against `maxIterations`: those ended by a rate limit do not.
    pub counted: u32,
    pub plan: PlanSnapshot,
    /// Iterations running that ended with no open task in the plan.
    pub complete_streak: u32,
    /// The most tasks that were ever done at once in this run.
    pub most_done: usize,
    /// Tasks that were in the plan of this run and that an agent took out of it.
    pub missing: Vec<String>,
    /// The task of the latest iteration.
    pub task: Option<String>,
    /// What agents said blocks them, since the user last said something.
    pub blocks: Vec<Block>,
    /// What the agent of the latest iteration asked through its own channel, where nobody answers.
    pub asked: Option<String>,
    /// What the agent of the latest iteration said of itself.
    pub stated: Statement,
    /// Claims made in the latest iteration.
    pub claims: Vec<Claim>,
    /// What the agent of the latest iteration said against being done.
    pub denial: Option<String>,
    /// The iteration before made an explicit claim, too; one that was cut off does not count.
    pub claimed_before: bool,
    /// The latest iteration ended when ralph was killed.
    pub cut_off: bool,
    /// Results of the goals after the latest iteration, as far as they were run.
    pub goals: Vec<GoalResult>,
    /// The goals were run before the first iteration.
    pub looked: bool,
    pub breaker: Breaker,
    /// The latest iteration got somewhere; none where that cannot be told.
    pub progress: Option<bool>,
    /// The tree that was only committed: doing that again is no progress.
    pub committed_tree: Option<String>,
    /// The adapter of the latest iteration.
    pub adapter: String,
    /// Until when adapters are limited.
    pub limited: BTreeMap<String, u64>,
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
    /// How often running the agent told that its login was refused.
    pub refusals: u32,
    /// What reports of agents take of the journal.
    pub budget: Budget,
    /// The dialect's verdict on the running turn.
    pub verdict: Option<bool>,
    /// The session that the next iteration continues.
    pub session: Option<SessionId>,
    pub steering: Vec<Steering>,
    /// Messages in the prompt of the running session, which has not shown yet that it has read it.
    pub prompted: Vec<SteeringId>,
    /// What the next prompt has to tell the agent about the last iteration.
    pub feedback: Vec<Feedback>,
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

impl LoopState {
    /// Advances the state by one record; the only way it changes.
    pub fn apply(&mut self, record: &Record) {
        self.apply_event(record.at_ms, &record.event);
    }

    pub(super) fn apply_event(&mut self, at_ms: u64, event: &Event) {
        self.follow_clock(at_ms, event);
        match event {
            Event::JournalOpened { run, .. } => self.run = Some(run.clone()),
            Event::RunStarted {
                settings,
                promise,
                earlier_starts_ms,
                ..
            } => {
                self.settings = (**settings).clone();
                self.starts_ms.clone_from(earlier_starts_ms);
                self.promise.clone_from(promise);
                self.started_ms = at_ms;
            }
            Event::RunResumed { settings, .. } => {
                if settings.session == SessionMode::Fresh || settings.adapter != self.settings.adapter {
                    self.session = None;
                }
                self.settings = (**settings).clone();
                self.stop = None;
            }
            Event::ClockMoved { .. } | Event::Noticed { .. } | Event::Unknown { .. } => {}
            Event::PlanRead { plan } => {
                plan.take_back(&self.plan, &mut self.missing);
                self.plan = plan.clone();
            }
            // What was added is in the plan that was read before.
            Event::PlanEdited { vanished, .. } => self.missing.extend(vanished.iter().cloned()),
            Event::TaskBlocked { task, question, .. } => {
                self.feedback.extend(task.iter().map(|task| Feedback::TaskSetAside {
                    task: task.clone(),
                    question: question.clone(),
                }));
                self.blocks.push(Block {
                    task: task.clone(),
                    question: question.clone(),
                });
            }
            Event::PreparationStarted { iteration, adapter } => {
                if self.adapter != *adapter {
                    // Another program knows nothing of the first one's sessions.
                    self.session = None;
                    self.adapter.clone_from(adapter);
                }
                self.enter(Phase::Preparing { iteration: *iteration });
            }
            Event::AdapterLimited { adapter, until_ms } => {
                self.limited.insert(adapter.clone(), *until_ms);
            }
            Event::VerificationStarted { iteration, .. } => self.start_verification(*iteration),
            Event::GoalChecked { result, .. } => self.goals.push(result.clone()),
            Event::ClaimJudged { .. } => {}
            Event::BreakerMoved { to, why } => self.breaker.enter(*to, why),
            Event::IterationStarted {
                iteration,
                live_steering,
                checkpoint,
                task,
                messages,
                ..
            } => {
                self.task.clone_from(task);
                self.prompted.clone_from(messages);
                self.start_iteration(at_ms, *iteration, *live_steering, checkpoint.as_ref());
            }
            Event::AgentReported { signal, .. } => self.apply_signal(signal),
            Event::DetailsOmitted { .. } => self.budget.omit(),
            Event::CancelRequested { iteration, reason } => self.cancel(*iteration, *reason),
            Event::IterationEnded { iteration, outcome, .. } => self.end_iteration(*iteration, outcome),
            Event::IterationSettled {
                checkpoint,
                totals,
                progress,
                ..
            } => {
                self.settle(checkpoint.as_ref(), *totals, *progress);
            }
            Event::AgentStated {
                claims,
                blocked,
                denies_done,
                question,
                ..
            } => {
                self.stated = Statement {
                    claims: claims.clone(),
                    blocked: blocked.clone(),
                    denies_done: denies_done.clone(),
                    question: question.clone(),
                };
            }
            Event::ClaimMade { claim, .. } => self.claims.push(*claim),
            Event::CompletionDenied { why, .. } => self.denial = Some(why.clone()),
            Event::ClaimRefused { reasons, .. } => {
                self.feedback.push(Feedback::ClaimRefused {
                    reasons: reasons.clone(),
                });
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
            Event::SteeringQueued { id, kind, text } => {
                // Whatever was asked, the user has said something now.
                self.blocks.clear();
                self.steering.push(Steering {
                    id: *id,
                    kind: *kind,
                    text: text.clone(),
                    state: SteeringState::Queued,
                });
            }
            Event::SteeringDelivered { id, iteration, .. } => {
                self.prompted.retain(|prompted| prompted != id);
                self.set_steering(*id, SteeringState::Delivered { iteration: *iteration });
            }
            Event::SteeringWithdrawn { id } => {
                self.prompted.retain(|prompted| prompted != id);
                self.set_steering(*id, SteeringState::Withdrawn);
            }
            Event::RunReopened { .. } => self.reopen(),
            Event::StopRequested { stop, by } => self.request_stop(*stop, *by),
            Event::RunStopped { reason, .. } => self.enter(Phase::Stopped(reason.clone())),
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.entered_ms = self.now_ms;
        self.epoch += 1;
    }

    fn start_iteration(&mut self, at_ms: u64, iteration: u32, live_steering: bool, checkpoint: Option<&Checkpoint>) {
        self.iteration = iteration;
        self.counted += 1;
        self.problem = None;
        self.holdup = None;
        self.budget.begin_iteration();
        self.refusals = 0;
        self.verdict = None;
        self.asked = None;
        self.feedback.clear();
        if !self.cut_off {
            self.claimed_before = self.claims.iter().any(|claim| *claim != Claim::PlanComplete);
        }
        self.cut_off = false;
        self.claims.clear();
        self.denial = None;
        self.stated = Statement::default();
        self.goals.clear();
        self.most_done = self.most_done.max(self.plan.done());
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

    fn end_iteration(&mut self, iteration: u32, outcome: &Outcome) {
        self.prompted.clear();
        match outcome {
            Outcome::Completed => {
                self.failures = 0;
                // It went on without what it was denied; the next one should know before it tries.
                let denied = |problem: &&Problem| problem.kind == ProblemKind::PermissionDenied;
                self.feedback
                    .extend(self.problem.as_ref().filter(denied).and_then(feedback::of_failure));
            }
            Outcome::Failed { problem } => {
                self.failures += 1;
                self.feedback.extend(feedback::of_failure(problem));
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
                    | ProblemKind::Flood
                    | ProblemKind::Other => {}
                }
            }
            Outcome::Cancelled { reason } => {
                if *reason == CancelReason::IdleTimeout {
                    self.failures += 1;
                }
                self.feedback.extend(feedback::of_cancel(*reason));
            }
            Outcome::Interrupted => {
                self.cut_off = true;
                self.feedback.push(Feedback::CutOff);
            }
        }
        self.enter(Phase::Settling {
            iteration,
            outcome: outcome.clone(),
        });
    }

    fn settle(&mut self, checkpoint: Option<&Checkpoint>, totals: Option<Changes>, progress: Option<bool>) {
        if totals.is_some() {
            self.totals = totals;
        }
        self.progress = progress;
        if let Phase::Settling { outcome, .. } = &self.phase {
            self.breaker.count(&Observation::of(outcome, progress));
        }
        if let Some(checkpoint) = checkpoint {
            if self
                .latest
                .as_ref()
                .is_some_and(|latest| latest.tree == checkpoint.tree && latest.head != checkpoint.head)
            {
                self.committed_tree = Some(checkpoint.tree.clone());
            }
            self.remember_tree(&checkpoint.tree);
            self.latest = Some(checkpoint.clone());
        }
        self.most_done = self.most_done.max(self.plan.done());
        self.complete_streak = if self.plan.is_complete() {
            self.complete_streak + 1
        } else {
            0
        };
    }

    fn start_verification(&mut self, iteration: u32) {
        self.goals.clear();
        let outcome = match &self.phase {
            Phase::Settling { outcome, .. } | Phase::Verifying { outcome, .. } => outcome.clone(),
            // The look before the first iteration: what is there is taken as completed.
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Cancelling { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped(_) => Outcome::Completed,
        };
        self.looked |= iteration == 0;
        self.enter(Phase::Verifying { iteration, outcome });
    }

    fn remember_tree(&mut self, tree: &str) {
        if !self.trees.iter().any(|seen| seen == tree) {
            self.trees.push(tree.to_owned());
        }
    }
}
