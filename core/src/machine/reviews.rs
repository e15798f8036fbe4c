//! The state of reviews: the fold of their records.

use crate::{
    event::{Checkpoint, Event, Findings, IterationEvent, Outcome, ReviewEvent, ReviewResult, Role},
    run::RunView,
};

/// Maximum number of times an interrupted review is repeated.
const REPEATS: u32 = 2;

/// The state of reviews.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reviews {
    /// The work under review, until the reviewer approves it or the review ends otherwise.
    pub subject: Option<ReviewSubject>,
    /// Whether it is the reviewer's turn rather than the author's.
    pub(super) is_due: bool,
    /// Whether no work was done since the last review.
    pub(super) is_over: bool,
    /// The tree of the last review, with which the next one is compared.
    pub(super) since: Option<Checkpoint>,
    /// Consecutive failed reviews.
    pub(super) failures: u32,
    /// How often the due review was interrupted by the death of ralph.
    pub(super) cut_off: u32,
}

/// Work under review.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewSubject {
    /// The finished task; `None` if the whole plan is reviewed.
    pub task: Option<String>,
    /// Whether only the review is missing for completion.
    pub claims_done: bool,
    /// Number of reviews with findings.
    pub rounds: u32,
    /// The findings of the latest of them.
    pub findings: Findings,
}

impl Reviews {
    /// Applies an event; `view` is the state before it.
    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::Review(ReviewEvent::Requested { task, claims_done, .. }) => {
                let subject = self.subject.get_or_insert_default();
                subject.task = task.clone().or_else(|| subject.task.take());
                subject.claims_done = *claims_done;
                self.is_due = true;
            }
            Event::Review(ReviewEvent::Withdrawn) => self.leave(),
            Event::Iteration(IterationEvent::Started { role: Role::Work, .. }) => {
                self.is_due = false;
                self.is_over = false;
                if let Some(subject) = &mut self.subject {
                    subject.claims_done = false;
                }
            }
            Event::Iteration(IterationEvent::Ended { outcome, .. }) if is_repeated(outcome) && !view.role.is_work() => {
                self.cut_off += 1
            }
            Event::Review(ReviewEvent::Concluded { result, .. }) => self.conclude(view, result),
            _ => {}
        }
    }

    fn conclude(&mut self, view: &RunView, result: &ReviewResult) {
        self.failures = match result {
            ReviewResult::Approved | ReviewResult::Findings { .. } => 0,
            ReviewResult::NoAnswer | ReviewResult::Failed => self.failures + 1,
            ReviewResult::Skipped => self.failures,
        };
        if let ReviewResult::Findings {
            findings,
            sent_back: true,
        } = result
        {
            let subject = self.subject.get_or_insert_default();
            subject.rounds += 1;
            subject.claims_done = false;
            subject.findings.clone_from(findings);
            self.is_due = false;
            self.cut_off = 0;
            return;
        }
        // Changes without a verdict are part of the next review.
        if result.is_answer() {
            let reviewed = view.iterations.latest().and_then(|latest| latest.before.clone());
            self.since = reviewed.or_else(|| self.since.take());
        }
        self.leave();
    }

    fn leave(&mut self) {
        self.subject = None;
        self.is_due = false;
        self.is_over = true;
        self.cut_off = 0;
    }

    /// Whether an interrupted review may be repeated, at most [`REPEATS`] times.
    pub(super) fn may_repeat(&self) -> bool {
        self.cut_off <= REPEATS
    }

    /// The findings with which the author is sent back.
    pub(super) fn open_findings(&self) -> Option<&ReviewSubject> {
        let subject = self.subject.as_ref().filter(|_| !self.is_due)?;
        (subject.findings.count() > 0).then_some(subject)
    }
}

/// Whether a review with this outcome is repeated without an iteration of the author in between.
pub(super) fn is_repeated(outcome: &Outcome) -> bool {
    *outcome == Outcome::Interrupted || outcome.found_no_live_channel()
}
