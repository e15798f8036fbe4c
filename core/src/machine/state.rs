//! The state of the loop: the fold over its records.

use crate::{
    event::{Checkpoint, Event, LimitKind, Missing, PlanTask, Record, SteeringId, StopReason},
    limits::run_limit_reached,
    run::{BackgroundTask, RunView},
};

use super::{
    feedback::{self, Feedback},
    internal_state::InternalState,
};

/// Most missing tasks that are named in a prompt.
const MISSING_TOLD: usize = 20;

/// The state of a run after its records so far: the public view, and what else the decisions need.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoopState {
    pub view: RunView,
    pub internal: InternalState,
}

/// Why an ended run cannot be reopened by a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedReason {
    /// Another run replaced this one.
    Superseded,
    UsedUp {
        limit: LimitKind,
    },
}

impl LoopState {
    /// Advances the state by one record. The state changes in no other way.
    pub fn apply(&mut self, record: &Record) {
        self.apply_event(record.at_ms, &record.event);
    }

    pub(super) fn apply_event(&mut self, at_ms: u64, event: &Event) {
        self.internal.apply(&self.view, event);
        self.view.apply_event(at_ms, event);
    }

    /// The first of the iterations in a row that ended with a plan that cannot be read; `None` if it can be now.
    pub(super) fn unreadable_since(&self) -> Option<u32> {
        let (first, latest) = self.internal.unreadable?;
        (latest == self.view.iterations.number).then_some(first)
    }

    /// Why a message cannot reopen the ended run; `None` if it can.
    pub fn closed_for_good(&self) -> Option<ClosedReason> {
        match self.view.stop_reason()? {
            StopReason::Superseded => Some(ClosedReason::Superseded),
            StopReason::TaskLimitReached { limit, .. } => Some(ClosedReason::UsedUp { limit: *limit }),
            // Evaluated at the time of the last record: the time since the end does not count.
            _ => {
                let limit = run_limit_reached(&self.view, self.view.clock.now_ms)?;
                Some(ClosedReason::UsedUp { limit })
            }
        }
    }

    /// The feedback for the next prompt.
    pub fn prompt_feedback(&self) -> Vec<Feedback> {
        let diagnosis = feedback::for_breaker(&self.view.breaker);
        let reviewed = self.internal.reviews.open_findings().map(feedback::for_review);
        let at_limit = self
            .view
            .tasks_at_limit()
            .map(|(task, _)| Feedback::TaskAtLimit { task: task.to_owned() });
        let left_out = self.view.left_out().into_iter();
        let left_out = left_out.map(|task| Feedback::TaskLeftOut { task });
        // A refused claim lists them, and a message that waits has them.
        let is_listed = |feedback: &Feedback| match feedback {
            Feedback::ClaimRefused { reasons } => reasons
                .iter()
                .any(|reason| matches!(reason, Missing::CommentOpen { .. })),
            _ => false,
        };
        let mut waiting = self.view.messages.iter().filter(|message| message.is_due());
        let is_told = self.internal.feedback.iter().any(is_listed)
            || waiting.any(|message| self.view.comments.are_in(message.id));
        let open: Vec<Missing> = self.view.comments.reasons().filter(|_| !is_told).collect();
        let comments = (!open.is_empty()).then_some(Feedback::CommentsOpen { open });
        let last = self.internal.feedback.iter().cloned();
        let failed = self.internal.after_edits.failed();
        let failed = (!failed.is_empty()).then_some(Feedback::FailedAfterEdits { failed });
        let broken = self.view.goals.iter().filter_map(|goal| {
            let failed = self.internal.after_edits.broken(&goal.name)?;
            goal.suspects().map(|by| Feedback::Broken { by, failed })
        });
        // A refused claim names them.
        let is_named = self
            .internal
            .feedback
            .iter()
            .any(|known| matches!(known, Feedback::ClaimRefused { .. }));
        let tasks = self.view.missing.iter().filter(|_| !is_named);
        let tasks: Vec<String> = tasks.take(MISSING_TOLD).cloned().collect();
        let missing = (!tasks.is_empty()).then_some(Feedback::TasksMissing { tasks });
        last.chain(missing)
            .chain(failed)
            .chain(broken)
            .chain(at_limit)
            .chain(left_out)
            .chain(comments)
            .chain(reviewed)
            .chain(diagnosis)
            .collect()
    }

    /// The next task for the author: one that a reviewer sent back, or else the first open one.
    pub fn task_next(&self) -> Option<&PlanTask> {
        let plan = &self.view.plan;
        let sent_back = self
            .sent_back_to()
            .and_then(|text| plan.tasks.iter().find(|task| task.text == *text));
        sent_back.or_else(|| plan.current_except(&self.view.set_aside()))
    }

    /// The text of the next task. Tasks that agents removed while they were open are still owed, after those in the plan.
    pub(super) fn text_next(&self) -> Option<&String> {
        let removed = self.view.missing.iter().find(|task| !self.view.is_set_aside(task));
        self.task_next().map(|task| &task.text).or(removed)
    }

    /// The text of the task that a reviewer sent back, unless it is set aside.
    pub fn sent_back_to(&self) -> Option<&String> {
        let task = self.internal.reviews.open_findings()?.task.as_ref()?;
        (!self.view.is_set_aside(task)).then_some(task)
    }

    /// The tree that the next review is compared with.
    pub fn unreviewed_since(&self) -> Option<&Checkpoint> {
        self.internal.reviews.since.as_ref().or(self.internal.baseline.as_ref())
    }

    /// The background tasks that the next prompt mentions: running ones, and those that ended since the last prompt.
    pub fn background_for_prompt(&self) -> impl Iterator<Item = &BackgroundTask> {
        let untold = &self.internal.unreported_tasks;
        let tasks = self.view.background.tasks.iter();
        tasks.filter(|task| task.result.is_none() || untold.has(task.number))
    }

    /// The id of the next message.
    pub fn next_message(&self) -> SteeringId {
        SteeringId(self.view.messages.last().map_or(1, |message| message.id.0 + 1))
    }
}
