//! The iterations of a run and their totals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Assessment, Iteration, Recent, Shared, Work, breaker};
use crate::event::{AgentSignal, CancelReason, Event, Outcome};

/// Number of stored iterations.
const ROWS: usize = 10_000;
/// Number of the newest iterations that are stored in full.
const WHOLE_ROWS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Iterations {
    /// Number of the latest iteration, from 1.
    pub number: u32,
    /// Iterations that count against `maxIterations`: neither those ended by a rate limit nor reviews do.
    pub counted: u32,
    /// Consecutive failures.
    pub failures: u32,
    /// Number of done tasks, counted when the plan is read: a long journal has many iterations of many tasks.
    pub done: usize,
    /// Number of done tasks when the latest iteration began.
    pub done_before: usize,
    /// The verification before the first iteration, if the run had one.
    pub at_start: Assessment,
    pub rows: Recent<Iteration, ROWS>,
    /// The work on tasks, by their text.
    #[cfg_attr(feature = "testing", schemars(with = "BTreeMap<String, Work>"))]
    pub work: Shared<BTreeMap<String, Work>>,
}

impl Iterations {
    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::IterationStarted {
                iteration,
                adapter,
                model,
                task,
                resume,
                checkpoint,
                role,
                ..
            } => self.start(Iteration {
                number: *iteration,
                role: *role,
                adapter: adapter.clone(),
                model: model.clone(),
                task: task.clone(),
                resumed: resume.is_some(),
                started_ms: at_ms,
                before: checkpoint.clone(),
                ..Iteration::default()
            }),
            Event::AgentReported {
                iteration,
                signal: AgentSignal::Usage { usage },
            } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.usage = found.usage.plus(*usage);
                    let task = found.worked_on();
                    if let Some(work) = task.and_then(|task| self.work.get_mut(&task)) {
                        work.usage = work.usage.plus(*usage);
                    }
                }
            }
            Event::AgentReported {
                iteration,
                signal: AgentSignal::Opened { model: Some(model), .. },
            } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.model_named = Some(model.clone());
                }
            }
            Event::IterationEnded {
                iteration,
                outcome,
                duration_ms,
                output_bytes,
                ..
            } => {
                if self.latest().is_none_or(|latest| latest.role.is_work()) {
                    self.count(outcome);
                }
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.outcome = Some(outcome.clone());
                    found.duration_ms = *duration_ms;
                    found.output_bytes = *output_bytes;
                    let task = found.worked_on();
                    if let Some(work) = task.and_then(|task| self.work.get_mut(&task)) {
                        work.duration_ms += duration_ms;
                        if outcome.was_limited() || outcome.found_no_live_channel() {
                            work.counted = work.counted.saturating_sub(1);
                        }
                    }
                }
            }
            Event::IterationSettled {
                iteration,
                checkpoint,
                changes,
                progress,
                undone,
                committed,
                ..
            } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.undone = *undone;
                    found.committed.clone_from(committed);
                    found.after.clone_from(checkpoint);
                    found.changes = *changes;
                    found.progress = *progress;
                }
            }
            Event::PlanEdited {
                iteration,
                vanished,
                added,
            } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    // Both the agent and a goal that runs afterwards may edit the plan.
                    found.vanished.extend(vanished.iter().cloned());
                    found.added.extend(added.iter().cloned());
                }
            }
            Event::TaskBlocked {
                iteration, question, ..
            } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.question = Some(question.to_string());
                }
            }
            Event::AgentStated {
                iteration,
                status: Some(status),
                ..
            } => self.assessment_mut(*iteration).status = Some(status.clone()),
            Event::ClaimMade { iteration, claim } => self.assessment_mut(*iteration).claims.push(*claim),
            Event::CompletionDenied { iteration, why } => self.assessment_mut(*iteration).denied = Some(why.clone()),
            Event::VerificationStarted { iteration, .. } => {
                let assessment = self.assessment_mut(*iteration);
                assessment.goals.clear();
                assessment.trial = None;
                assessment.mutants.clear();
            }
            Event::TrialMade { iteration, trial } => self.assessment_mut(*iteration).trial = Some(trial.clone()),
            Event::MutantsTried { iteration, mutants } => self.assessment_mut(*iteration).mutants = mutants.to_vec(),
            Event::GoalChecked { iteration, result } => self.assessment_mut(*iteration).goals.push(result.clone()),
            Event::ClaimJudged {
                iteration,
                confidence,
                parts,
            } => {
                let assessment = self.assessment_mut(*iteration);
                assessment.confidence = Some(*confidence);
                assessment.confidence_parts = parts.to_vec();
            }
            Event::ReviewConcluded { iteration, result } => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.review = Some(result.clone());
                }
            }
            Event::ClaimRefused { iteration, reasons } => self.assessment_mut(*iteration).refused = reasons.to_vec(),
            Event::RunReopened { .. } => self.failures = 0,
            _ => {}
        }
    }

    fn start(&mut self, iteration: Iteration) {
        self.number = iteration.number;
        self.counted += u32::from(iteration.role.is_work());
        if let Some(task) = iteration.worked_on() {
            let work = self.work.entry(task).or_default();
            work.counted += 1;
            if work.iterations.last() != Some(&iteration.number) {
                work.iterations.push(iteration.number);
            }
        }
        self.rows.push(iteration);
        if let Some(old) = self.rows.before_last_mut(WHOLE_ROWS) {
            old.shorten();
        }
    }

    /// Moves the start of the running iteration by a time without work.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        if let Some(running) = self.rows.last_mut() {
            running.started_ms = running.started_ms.saturating_add_signed(gap_ms);
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        if outcome.found_no_live_channel() {
            self.counted = self.counted.saturating_sub(1);
            return;
        }
        match outcome {
            Outcome::Completed => self.failures = 0,
            Outcome::Failed { .. }
            | Outcome::Cancelled {
                reason: CancelReason::IdleTimeout,
            } => self.failures += 1,
            Outcome::Cancelled { .. } | Outcome::Interrupted => {}
        }
        if outcome.was_limited() {
            self.counted = self.counted.saturating_sub(1);
        }
    }

    /// The running or last iteration.
    pub fn latest(&self) -> Option<&Iteration> {
        self.rows.last()
    }

    /// The latest iteration with this number: a rate-limited iteration is retried under the same number.
    pub fn numbered(&self, number: u32) -> Option<&Iteration> {
        self.rows.iter().rev().find(|iteration| iteration.number == number)
    }

    fn numbered_mut(&mut self, number: u32) -> Option<&mut Iteration> {
        self.rows.iter_mut().rev().find(|iteration| iteration.number == number)
    }

    /// The latest iteration that is not a review, as a review claims and proves nothing.
    pub fn latest_work(&self) -> Option<&Iteration> {
        self.rows.iter().rev().find(|iteration| iteration.role.is_work())
    }

    /// The claims and findings of the latest iteration that is not a review, or those before the first iteration.
    pub fn latest_assessment(&self) -> &Assessment {
        self.latest_work().map_or(&self.at_start, |iteration| &iteration.look)
    }

    /// Whether goals failed at the latest refused claim in the same way as at the one before.
    pub(super) fn fails_as_before(&self) -> bool {
        let mut refused = self.rows.iter().rev().filter(|row| row.was_refused());
        let (now, before) = (refused.next(), refused.next());
        let both = now.zip(before);
        both.is_some_and(|(now, before)| breaker::fail_alike(&before.look.goals, &now.look.goals))
    }

    /// Sets the number of tasks that an iteration ticked.
    pub(super) fn close(&mut self, number: u32) {
        let closed = self.done.saturating_sub(self.done_before);
        if let Some(found) = self.numbered_mut(number) {
            found.closed = u32::try_from(closed).unwrap_or(u32::MAX);
        }
    }

    fn assessment_mut(&mut self, number: u32) -> &mut Assessment {
        let mut newest_first = self.rows.iter_mut().rev();
        match newest_first.find(|iteration| iteration.number == number) {
            Some(found) => &mut found.look,
            None => &mut self.at_start,
        }
    }
}
