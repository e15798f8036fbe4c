//! The iterations of a run and their totals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Assessment, GoalStatus, Iteration, Recent, Shared, Work, breaker};
use crate::event::{
    AgentEvent, AgentSignal, CancelReason, ClaimEvent, Event, GateEvent, IterationEvent, Outcome, PlanEvent,
    ReviewEvent, RunEvent, TaskEvent,
};

/// Number of stored iterations.
const ROWS: usize = 10_000;
/// Number of the newest iterations that are stored in full.
const WHOLE_ROWS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
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
    #[schemars(with = "BTreeMap<String, Work>")]
    pub work: Shared<BTreeMap<String, Work>>,
}

impl Iterations {
    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::Iteration(IterationEvent::Started {
                iteration,
                adapter,
                model,
                task,
                resume,
                checkpoint,
                role,
                ..
            }) => self.start(Iteration {
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
            Event::Agent(AgentEvent::Reported {
                iteration,
                signal: AgentSignal::Usage { usage },
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.usage = found.usage.plus(*usage);
                    let task = found.worked_on();
                    if let Some(work) = task.and_then(|task| self.work.get_mut(&task)) {
                        work.usage = work.usage.plus(*usage);
                    }
                }
            }
            Event::Agent(AgentEvent::Reported {
                iteration,
                signal: AgentSignal::Subagent { subagent },
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.subagents.apply(subagent);
                }
            }
            Event::Agent(AgentEvent::Reported {
                iteration,
                signal: AgentSignal::Opened { model: Some(model), .. },
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.model_named = Some(model.clone());
                }
            }
            Event::Iteration(IterationEvent::Ended {
                iteration,
                outcome,
                duration_ms,
                output_bytes,
                ..
            }) => {
                if self.latest().is_none_or(|latest| latest.role.is_work()) {
                    self.count(outcome);
                }
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.outcome = Some(outcome.clone());
                    found.duration_ms = *duration_ms;
                    found.output_bytes = *output_bytes;
                    found.subagents.end();
                    let task = found.worked_on();
                    if let Some(work) = task.and_then(|task| self.work.get_mut(&task)) {
                        work.duration_ms += duration_ms;
                        if outcome.was_limited() || outcome.found_no_live_channel() {
                            work.counted = work.counted.saturating_sub(1);
                        }
                    }
                }
            }
            Event::Iteration(IterationEvent::Settled {
                iteration,
                checkpoint,
                changes,
                progress,
                undone,
                committed,
                elsewhere,
                ..
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.undone = *undone;
                    found.committed.clone_from(committed);
                    found.after.clone_from(checkpoint);
                    found.changes = *changes;
                    found.elsewhere.clone_from(elsewhere);
                    found.progress = *progress;
                }
            }
            Event::Plan(PlanEvent::Edited {
                iteration,
                vanished,
                added,
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    // Both the agent and a goal that runs afterwards may edit the plan.
                    found.vanished.extend(vanished.iter().cloned());
                    found.added.extend(added.iter().cloned());
                }
            }
            Event::Task(TaskEvent::Blocked {
                iteration, question, ..
            }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.question = Some(question.to_string());
                }
            }
            Event::Agent(AgentEvent::Stated {
                iteration,
                status: Some(status),
                ..
            }) => self.assessment_mut(*iteration).status = Some(status.clone()),
            Event::Claim(ClaimEvent::Made { iteration, claim }) => self.assessment_mut(*iteration).claims.push(*claim),
            Event::Claim(ClaimEvent::Denied { iteration, why }) => {
                self.assessment_mut(*iteration).denied = Some(why.clone())
            }
            Event::Gate(GateEvent::VerificationStarted { iteration, .. }) => {
                let assessment = self.assessment_mut(*iteration);
                assessment.goals.clear();
                assessment.trial = None;
                assessment.mutants.clear();
            }
            Event::Gate(GateEvent::TrialMade { iteration, trial }) => {
                self.assessment_mut(*iteration).trial = Some(trial.clone())
            }
            Event::Gate(GateEvent::MutantsTried { iteration, mutants }) => {
                self.assessment_mut(*iteration).mutants = mutants.to_vec()
            }
            Event::Gate(GateEvent::GoalChecked { iteration, result }) => {
                self.assessment_mut(*iteration).goals.push(result.clone())
            }
            Event::Claim(ClaimEvent::Judged {
                iteration,
                confidence,
                parts,
            }) => {
                let assessment = self.assessment_mut(*iteration);
                assessment.confidence = Some(*confidence);
                assessment.confidence_parts = parts.to_vec();
            }
            Event::Review(ReviewEvent::Concluded { iteration, result }) => {
                if let Some(found) = self.numbered_mut(*iteration) {
                    found.review = Some(result.clone());
                }
            }
            Event::Claim(ClaimEvent::Refused { iteration, reasons }) => {
                self.assessment_mut(*iteration).refused = reasons.to_vec()
            }
            Event::Run(RunEvent::Reopened { .. }) => self.failures = 0,
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

    /// The tree that an iteration left, or for 0 the one that the first found; `None` if it is not known.
    fn tree_after(&self, number: u32) -> Option<&str> {
        let checkpoint = match number {
            0 => self.numbered(1)?.before.as_ref(),
            number => self.numbered(number)?.after.as_ref(),
        };
        checkpoint.map(|checkpoint| &*checkpoint.tree)
    }

    fn have_same_files(&self, one: u32, other: u32) -> bool {
        self.tree_after(one)
            .is_some_and(|tree| self.tree_after(other) == Some(tree))
    }

    /// Widens what is known of a goal to the iterations that left the same files.
    pub(super) fn widen(&self, goal: &mut GoalStatus) {
        let are_same = |before: u32| self.have_same_files(before, before + 1);
        if let Some(passed) = &mut goal.passed_with {
            while *passed < self.number && are_same(*passed) {
                *passed += 1;
            }
        }
        if let Some(by) = &mut goal.broken_by {
            while *by > 1 && are_same(*by - 1) {
                *by -= 1;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{
            AgentStatus, Changes, Checkpoint, ConfidencePart, Denial, Elsewhere, Evidence, IterationCommit, Missing,
            Problem, ProblemKind, RequestedBy, ReviewResult, SessionId,
        },
        testing::{goal_checked, iteration_ended, iteration_started},
    };

    fn after(events: impl IntoIterator<Item = Event>) -> Iterations {
        let mut iterations = Iterations::default();
        follow(&mut iterations, events);
        iterations
    }

    fn follow(iterations: &mut Iterations, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| iterations.apply(500, &event));
    }

    fn row(iterations: &Iterations, number: u32) -> &Iteration {
        iterations.numbered(number).expect("a row")
    }

    fn checkpoint(commit: &str) -> Checkpoint {
        Checkpoint {
            commit: commit.to_owned(),
            tree: "tree".to_owned(),
            head: None,
        }
    }

    fn started(number: u32) -> Event {
        iteration_started(number, Some("a"), None)
    }

    fn failed(iteration: u32, kind: ProblemKind) -> Event {
        let mut ended = iteration_ended(iteration);
        let Event::Iteration(IterationEvent::Ended { outcome, .. }) = &mut ended else {
            unreachable!("it ends")
        };
        *outcome = Outcome::Failed {
            problem: Problem::said(kind, "it failed"),
        };
        ended
    }

    fn refused(iteration: u32, why: Missing) -> Event {
        Event::Claim(ClaimEvent::Refused {
            iteration,
            reasons: vec![why].into(),
        })
    }

    #[test]
    fn a_row_tells_how_its_iteration_was_started() {
        let mut event = iteration_started(4, Some("a"), Some(checkpoint("before")));
        let Event::Iteration(IterationEvent::Started { model, resume, .. }) = &mut event else {
            unreachable!("it starts")
        };
        *model = Some("haiku".to_owned());
        *resume = Some(SessionId("session".to_owned()));
        let iterations = after([event, started(5)]);
        let whole = row(&iterations, 4);
        assert_eq!((whole.adapter.as_str(), whole.shown_model()), ("codex", Some("haiku")));
        assert_eq!((whole.started_ms, whole.resumed), (500, true));
        assert_eq!(whole.before, Some(checkpoint("before")));
        let fresh = row(&iterations, 5);
        assert_eq!((fresh.shown_model(), fresh.resumed), (None, false));
    }

    #[test]
    fn the_model_that_the_agent_names_is_shown_before_the_requested_one() {
        let named = Event::Agent(AgentEvent::Reported {
            iteration: 1,
            signal: AgentSignal::Opened {
                session: None,
                model: Some("haiku-4.5".to_owned()),
            },
        });
        let mut event = started(1);
        if let Event::Iteration(IterationEvent::Started { model, .. }) = &mut event {
            *model = Some("haiku".to_owned());
        }
        let iterations = after([event, started(2), named]);
        assert_eq!(row(&iterations, 1).shown_model(), Some("haiku-4.5"));
        assert_eq!(row(&iterations, 2).shown_model(), None);
    }

    #[test]
    fn a_row_tells_what_its_iteration_left() {
        let committed = Some(IterationCommit {
            commit: "c1".to_owned(),
            files: 2,
        });
        let elsewhere = Elsewhere {
            unseen: vec!["/elsewhere".into()].into(),
            ..Elsewhere::default()
        };
        let changes = Some(Changes {
            files: 3,
            ..Changes::default()
        });
        let settled = Event::Iteration(IterationEvent::Settled {
            iteration: 1,
            checkpoint: Some(checkpoint("after")),
            changes,
            totals: None,
            progress: Some(true),
            undone: true,
            committed: committed.clone(),
            elsewhere: elsewhere.clone(),
        });
        let edited = |vanished: &str, added: &str| {
            Event::Plan(PlanEvent::Edited {
                iteration: 1,
                vanished: vec![vanished.to_owned()],
                added: vec![added.to_owned()],
            })
        };
        let blocked = Event::Task(TaskEvent::Blocked {
            iteration: 1,
            task: None,
            question: "Which key?".into(),
        });
        let by_goal = edited("c", "d");
        let iterations = after([started(1), started(2), settled, edited("a", "b"), by_goal, blocked]);
        let left = row(&iterations, 1);
        assert_eq!(
            (left.after.as_ref(), left.changes),
            (Some(&checkpoint("after")), changes)
        );
        assert_eq!(
            (left.progress, left.undone, &left.committed),
            (Some(true), true, &committed)
        );
        assert_eq!(left.elsewhere, elsewhere);
        assert_eq!(
            (&left.vanished[..], &left.added[..]),
            (
                &["a".to_owned(), "c".to_owned()][..],
                &["b".to_owned(), "d".to_owned()][..]
            )
        );
        assert_eq!(left.question.as_deref(), Some("Which key?"));
        let untouched = Iteration {
            number: 2,
            adapter: "codex".to_owned(),
            task: Some("a".to_owned()),
            started_ms: 500,
            ..Iteration::default()
        };
        assert_eq!(*row(&iterations, 2), untouched);
    }

    #[test]
    fn a_row_tells_what_was_claimed_and_found() {
        let status = AgentStatus::from(BTreeMap::from([("STATUS".to_owned(), "DONE".to_owned())]));
        let stated = Event::Agent(AgentEvent::Stated {
            iteration: 1,
            claims: Vec::new(),
            blocked: None,
            denies_done: None,
            question: None,
            status: Some(status.clone()),
            review: None,
            tests_changed: None,
            comments: Vec::new(),
        });
        let why = Denial::NotDone { why: "no docs".into() };
        let denied = Event::Claim(ClaimEvent::Denied {
            iteration: 1,
            why: why.clone(),
        });
        let parts = vec![ConfidencePart {
            evidence: Evidence::GoalsPassed,
            points: 40,
        }];
        let judged = Event::Claim(ClaimEvent::Judged {
            iteration: 1,
            confidence: 40,
            parts: parts.clone().into(),
        });
        let concluded = Event::Review(ReviewEvent::Concluded {
            iteration: 2,
            result: ReviewResult::Approved,
        });
        let iterations = after([started(1), started(2), stated, denied, judged, concluded]);
        let look = &row(&iterations, 1).look;
        assert_eq!((&look.status, &look.denied), (&Some(status), &Some(why)));
        assert_eq!((look.confidence, &look.confidence_parts), (Some(40), &parts));
        assert_eq!(row(&iterations, 2).review, Some(ReviewResult::Approved));
        assert_eq!(row(&iterations, 1).review, None);
    }

    #[test]
    fn failures_in_a_row_are_counted_until_one_completes_or_the_run_is_reopened() {
        let mut iterations = after([failed(1, ProblemKind::Network), failed(2, ProblemKind::Other)]);
        assert_eq!(iterations.failures, 2);
        follow(&mut iterations, [iteration_ended(3)]);
        assert_eq!(iterations.failures, 0);
        let by = RequestedBy::User;
        let reopened = Event::Run(RunEvent::Reopened { by, continued: true });
        follow(&mut iterations, [failed(4, ProblemKind::Network), reopened]);
        assert_eq!(iterations.failures, 0);
    }

    #[test]
    fn a_number_stands_for_its_latest_try() {
        let limited = failed(1, ProblemKind::RateLimited { until_ms: None });
        let iterations = after([started(1), limited, started(1), iteration_ended(1), started(2)]);
        assert_eq!(row(&iterations, 1).outcome, Some(Outcome::Completed));
        assert_eq!(iterations.numbered(3), None);
        let is_limited = |row: &Iteration| row.outcome.as_ref().is_some_and(Outcome::was_limited);
        let limited: Vec<bool> = iterations.rows.iter().map(is_limited).collect();
        assert_eq!(limited, [true, false, false]);
        assert_eq!(iterations.counted, 2);
    }

    #[test]
    fn time_without_work_moves_the_start_of_the_latest_iteration_only() {
        let mut iterations = after([started(1), started(2)]);
        iterations.skip(70);
        let starts: Vec<u64> = iterations.rows.iter().map(|row| row.started_ms).collect();
        assert_eq!(starts, [500, 570]);
    }

    #[test]
    fn a_refused_claim_fails_as_before_if_the_goals_of_the_refused_one_before_did() {
        let why = || Missing::GoalsNotRun;
        let claim = |iteration, output: &str| {
            [
                started(iteration),
                goal_checked(iteration, "tests", 1, output),
                refused(iteration, why()),
            ]
        };
        let unrefused = [started(2), goal_checked(2, "tests", 1, "3 failed")];
        let mut iterations = after(claim(1, "3 failed"));
        assert!(!iterations.fails_as_before(), "it is the first one");
        follow(&mut iterations, unrefused.into_iter().chain(claim(3, "2 failed")));
        assert!(!iterations.fails_as_before());
        follow(&mut iterations, claim(4, "2 failed"));
        assert!(iterations.fails_as_before());
    }

    #[test]
    fn the_lists_of_all_but_the_newest_thousand_rows_are_dropped() {
        let edited = Event::Plan(PlanEvent::Edited {
            iteration: 1,
            vanished: vec!["a".to_owned()],
            added: Vec::new(),
        });
        let mut iterations = after([started(1), edited, refused(1, Missing::GoalsNotRun)]);
        follow(&mut iterations, (2..=1_000).map(started));
        assert_eq!(row(&iterations, 1).vanished, ["a"]);
        assert!(row(&iterations, 1).was_refused());
        follow(&mut iterations, [started(1_001)]);
        assert_eq!(row(&iterations, 1).vanished, [""; 0]);
        assert!(!row(&iterations, 1).was_refused());
    }
}
