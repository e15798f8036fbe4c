//! The state of a loop: the fold of its records.

use crate::{
    event::{Checkpoint, Event, LimitKind, PlanTask, Record, SteeringId, StopReason},
    run::{BackgroundTask, RunView},
};

use super::{
    feedback::{self, Feedback},
    rules::Rules,
};

/// What is known about a run after its records so far: what everybody sees, and what decisions need besides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoopState {
    pub view: RunView,
    pub rules: Rules,
}

/// Why a run that is over takes no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Another run followed it.
    Superseded,
    UsedUp {
        limit: LimitKind,
    },
}

impl LoopState {
    /// Advances the state by one record; the only way it changes.
    pub fn apply(&mut self, record: &Record) {
        self.apply_event(record.at_ms, &record.event);
    }

    pub(super) fn apply_event(&mut self, at_ms: u64, event: &Event) {
        self.rules.apply(&self.view, event);
        self.view.apply_event(at_ms, event);
    }

    /// Why a message cannot make a run that is over go on; none if it can.
    pub fn closed_for_good(&self) -> Option<Closed> {
        match self.view.stop_reason()? {
            StopReason::Superseded => Some(Closed::Superseded),
            StopReason::TaskLimitReached { limit, .. } => Some(Closed::UsedUp { limit: *limit }),
            // The time since the end counts for nothing.
            _ => {
                let limit = self.view.limit_reached(self.view.clock.now_ms)?;
                Some(Closed::UsedUp { limit })
            }
        }
    }

    /// What the next prompt has to say besides the task.
    pub fn prompt_feedback(&self) -> Vec<Feedback> {
        let diagnosis = feedback::of_breaker(&self.view.breaker);
        let reviewed = self.rules.reviews.open_findings().map(feedback::of_review);
        let at_limit = self
            .view
            .tasks_at_limit()
            .map(|(task, _)| Feedback::TaskAtLimit { task: task.to_owned() });
        let last = self.rules.feedback.iter().cloned();
        let failed = self.rules.after_edits.failed();
        let failed = (!failed.is_empty()).then_some(Feedback::FailedAfterEdits { failed });
        last.chain(failed)
            .chain(at_limit)
            .chain(reviewed)
            .chain(diagnosis)
            .collect()
    }

    /// The task that the author works on next: one that a reviewer sent it back to, or else the first open one.
    pub fn task_next(&self) -> Option<&PlanTask> {
        let plan = &self.view.plan;
        let sent_back = self
            .sent_back_to()
            .and_then(|text| plan.tasks.iter().find(|task| task.text == *text));
        sent_back.or_else(|| plan.current_except(&self.view.set_aside()))
    }

    /// The text of the task that a reviewer found something about, unless it is set aside.
    pub fn sent_back_to(&self) -> Option<&String> {
        let task = self.rules.reviews.open_findings()?.task.as_ref()?;
        (!self.view.is_set_aside(task)).then_some(task)
    }

    /// The tree that the next review starts from: what changed since is what it is about.
    pub fn unreviewed_since(&self) -> Option<&Checkpoint> {
        self.rules.reviews.since.as_ref().or(self.rules.baseline.as_ref())
    }

    /// The background tasks that the next prompt tells of: those that have ended since the last one, and those that run.
    pub fn background_for_prompt(&self) -> impl Iterator<Item = &BackgroundTask> {
        let untold = &self.rules.untold;
        let tasks = self.view.background.tasks.iter();
        tasks.filter(|task| task.result.is_none() || untold.has(task.number))
    }

    /// The number of the next message.
    pub fn next_message(&self) -> SteeringId {
        SteeringId(self.view.messages.last().map_or(1, |message| message.id.0 + 1))
    }

    /// Whether a reader that wants no more than the present journals hold keeps `event`, as the next one.
    pub fn keeps(&self, event: &Event) -> bool {
        self.rules.keeps(event)
    }
}
