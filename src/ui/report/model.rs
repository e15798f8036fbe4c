//! From records to the report: a fold, so that a run that still goes on can be reported, too.

use std::fmt;

use super::{End, Iteration, Look, Message, Report, Task, TaskState, Waited, check};
use crate::{
    event::{AgentSignal, BreakerState, Changes, Event, Level, PlanSnapshot, Record, Settings, Usage},
    text::one_line,
    words::short_duration,
};

/// What is only needed while records are taken in.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Fold {
    pub(super) plan: PlanSnapshot,
    /// Tasks that the agent took out of the plan.
    pub(super) vanished: Vec<String>,
    /// Task and question, the last one for each task.
    pub(super) blocked: Vec<(Option<String>, String)>,
    /// Questions and permissions that nobody was there for.
    pub(super) asked: Vec<(u32, String)>,
    usage: Usage,
    changes: Option<Changes>,
}

impl fmt::Debug for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fold")
    }
}

impl Report {
    /// Makes the report of a run from all its records.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut report = Self::default();
        for record in records {
            report.apply(record);
        }
        report.conclude();
        report
    }

    /// Takes in one record. What follows from all of them is there after [`Report::conclude`] only.
    pub fn apply(&mut self, record: &Record) {
        let gap_ms = match record.event {
            // Nobody worked while ralph was dead.
            Event::RunResumed { .. } | Event::RunReopened { .. } => {
                record.at_ms.saturating_sub(self.last_ms).cast_signed()
            }
            Event::ClockMoved { gap_ms } => {
                self.last_ms = record.at_ms;
                gap_ms
            }
            _ => 0,
        };
        self.started_ms = self.started_ms.saturating_add_signed(gap_ms);
        self.last_ms = self.last_ms.max(record.at_ms);
        match &record.event {
            Event::JournalOpened { run, .. } => self.run = Some(run.clone()),
            Event::RunStarted { project, settings, .. } => {
                self.project = project.display().to_string();
                self.started_ms = record.at_ms;
                self.go_by(settings);
            }
            Event::RunResumed { settings, .. } => self.go_by(settings),
            Event::Noticed {
                level: Level::Warning,
                text,
            } => self.warnings.push(text.clone()),
            Event::PlanRead { plan } => {
                plan.take_back(&self.fold.plan, &mut self.fold.vanished);
                self.fold.plan = plan.clone();
            }
            Event::IterationStarted {
                iteration,
                adapter,
                task,
                resume,
                checkpoint,
                ..
            } => self.iterations.push(Iteration {
                number: *iteration,
                adapter: adapter.clone(),
                task: task.clone(),
                resumed: resume.is_some(),
                before: checkpoint.clone(),
                ..Iteration::default()
            }),
            Event::AgentReported { iteration, signal } => self.signal(*iteration, signal),
            Event::WaitStarted { wait, why, .. } => self.waits.push(Waited {
                kind: *wait,
                why: why.clone(),
                iteration: self.iterations.last().map_or(0, |iteration| iteration.number),
                from_ms: record.at_ms,
                duration_ms: None,
            }),
            Event::WaitEnded { .. } => {
                if let Some(wait) = self.waits.last_mut() {
                    wait.duration_ms = Some(record.at_ms.saturating_sub(wait.from_ms));
                }
            }
            Event::BreakerMoved { to, why } => {
                let to = match to {
                    BreakerState::Closed => "closed",
                    BreakerState::HalfOpen => "half-open",
                    BreakerState::Open => "open",
                };
                let after = self.iterations.last().map_or(0, |iteration| iteration.number);
                self.troubles
                    .push(format!("after iteration {after}: breaker {to}: {why}"));
            }
            Event::AdapterLimited { adapter, until_ms } => {
                let left = short_duration(until_ms.saturating_sub(record.at_ms));
                let after = self.iterations.last().map_or(0, |iteration| iteration.number);
                self.troubles
                    .push(format!("after iteration {after}: {adapter} was limited for {left}"));
            }
            Event::RunStopped { reason, hints, totals } => {
                self.end = Some(End {
                    reason: reason.clone(),
                    exit_code: reason.exit_code(),
                    hints: hints.clone(),
                });
                self.totals = totals.clone();
            }
            Event::RunReopened { .. } => self.end = None,
            Event::SteeringQueued { .. } | Event::SteeringDelivered { .. } | Event::SteeringWithdrawn { .. } => {
                self.steered(&record.event);
            }
            other => self.iterated(other),
        }
    }

    /// Draws the conclusions: the tasks, the totals so far, what is unverified and what needs a person.
    pub fn conclude(&mut self) {
        if self.end.is_none() {
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            self.totals.iterations = self
                .iterations
                .iter()
                .map(|iteration| iteration.number)
                .max()
                .unwrap_or(0);
            self.totals.tasks_done = count(self.fold.plan.done());
            self.totals.tasks_open = count(self.fold.plan.open());
            self.totals.usage = self.fold.usage;
            self.totals.changes = self.fold.changes;
            self.totals.elapsed_ms = self.last_ms.saturating_sub(self.started_ms);
        }
        self.tasks = self.all_tasks();
        self.unverified = check::unverified(self);
        self.needs_person = check::needs_person(self, &self.fold);
    }

    /// Numbers of done and open tasks of the plan as it was last read.
    pub fn tasks_so_far(&self) -> (u64, u64) {
        (self.fold.plan.done() as u64, self.fold.plan.open() as u64)
    }

    fn go_by(&mut self, settings: &Settings) {
        self.plan = settings.plan.display().to_string();
        self.adapter.clone_from(&settings.adapter);
        self.model.clone_from(&settings.model);
        self.goals = settings.goals.iter().map(|goal| goal.name.clone()).collect();
    }

    /// What happened in and after an iteration.
    fn iterated(&mut self, event: &Event) {
        match event {
            Event::IterationEnded {
                iteration,
                outcome,
                duration_ms,
                ..
            } => {
                if let Some(found) = self.iteration(*iteration) {
                    found.outcome = Some(outcome.clone());
                    found.duration_ms = *duration_ms;
                }
            }
            Event::IterationSettled {
                iteration,
                checkpoint,
                changes,
                totals,
                progress,
            } => {
                self.fold.changes = totals.or(self.fold.changes);
                if let Some(found) = self.iteration(*iteration) {
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
                self.fold.vanished.extend(vanished.iter().cloned());
                if let Some(found) = self.iteration(*iteration) {
                    // The agent may edit it, and so may a goal that is run after it.
                    found.vanished.extend(vanished.iter().cloned());
                    found.added.extend(added.iter().cloned());
                }
            }
            Event::TaskBlocked {
                iteration,
                task,
                question,
            } => {
                self.fold.blocked.retain(|(blocked, _)| blocked != task);
                self.fold.blocked.push((task.clone(), question.clone()));
                if let Some(found) = self.iteration(*iteration) {
                    found.question = Some(question.clone());
                }
            }
            Event::ClaimMade { iteration, claim } => self.look(*iteration).claims.push(*claim),
            Event::VerificationStarted { iteration, .. } => self.look(*iteration).goals.clear(),
            Event::GoalChecked { iteration, result } => self.look(*iteration).goals.push(result.clone()),
            Event::ClaimJudged {
                iteration,
                confidence,
                parts,
            } => {
                let look = self.look(*iteration);
                look.confidence = Some(*confidence);
                look.confidence_parts.clone_from(parts);
            }
            Event::ClaimRefused { iteration, reasons } => self.look(*iteration).refused.clone_from(reasons),
            _ => {}
        }
    }

    fn signal(&mut self, iteration: u32, signal: &AgentSignal) {
        match signal {
            AgentSignal::Usage { usage } => {
                self.fold.usage = self.fold.usage.plus(*usage);
                if let Some(found) = self.iteration(iteration) {
                    found.usage = found.usage.plus(*usage);
                }
            }
            AgentSignal::PermissionAsked {
                text, allowed: false, ..
            }
            | AgentSignal::QuestionAsked { text, .. } => {
                self.fold.asked.push((iteration, one_line(text)));
            }
            _ => {}
        }
    }

    fn steered(&mut self, event: &Event) {
        match event {
            Event::SteeringQueued { id, kind, text } => self.steering.push(Message {
                id: *id,
                kind: *kind,
                text: text.clone(),
                delivered: Vec::new(),
                withdrawn: false,
            }),
            Event::SteeringDelivered { id, iteration, how } => {
                if let Some(message) = self.steering.iter_mut().find(|message| message.id == *id) {
                    message.delivered.push((*iteration, *how));
                }
            }
            Event::SteeringWithdrawn { id } => {
                if let Some(message) = self.steering.iter_mut().find(|message| message.id == *id) {
                    message.withdrawn = true;
                }
            }
            _ => {}
        }
    }

    /// The latest of that number: one that was limited is repeated under it.
    fn iteration(&mut self, number: u32) -> Option<&mut Iteration> {
        self.iterations
            .iter_mut()
            .rev()
            .find(|iteration| iteration.number == number)
    }

    fn look(&mut self, number: u32) -> &mut Look {
        let found = self.iterations.iter().rposition(|iteration| iteration.number == number);
        match found {
            Some(at) => &mut self.iterations[at].look,
            None => &mut self.at_start,
        }
    }

    fn all_tasks(&self) -> Vec<Task> {
        let question = |text: &str| {
            let mut blocked = self.fold.blocked.iter();
            blocked.find_map(|(task, question)| (task.as_deref() == Some(text)).then(|| question.clone()))
        };
        let worked_on = |text: &str| {
            let iterations = self
                .iterations
                .iter()
                .filter(|iteration| iteration.task.as_deref() == Some(text));
            let mut numbers: Vec<u32> = iterations.map(|iteration| iteration.number).collect();
            numbers.dedup();
            numbers
        };
        let task = |text: &str, depth, state| Task {
            text: text.to_owned(),
            state,
            depth,
            iterations: worked_on(text),
            question: question(text).filter(|_| state != TaskState::Done),
        };
        let there = self.fold.plan.tasks.iter().map(|there| {
            let state = match (there.done, question(&there.text)) {
                (true, _) => TaskState::Done,
                (false, Some(_)) => TaskState::Blocked,
                (false, None) => TaskState::Open,
            };
            task(&there.text, there.depth, state)
        });
        let gone = self.fold.vanished.iter().map(|gone| task(gone, 0, TaskState::Vanished));
        there.chain(gone).collect()
    }
}
