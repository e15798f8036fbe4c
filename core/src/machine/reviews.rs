//! What is known of reviews: the fold of their records.

use crate::{
    event::{Checkpoint, Event, Findings, Outcome, ReviewResult, Role},
    run::RunView,
};

/// How often a review is repeated that was cut off with ralph.
const REPEATS: u32 = 2;

/// What is known of reviews.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reviews {
    /// What is under review, until the reviewer approves it or it is left as it is.
    pub subject: Option<Subject>,
    /// It is the reviewer's turn, and not the author's.
    pub(super) is_due: bool,
    /// Nothing was done since the last review.
    pub(super) is_over: bool,
    /// The tree that was reviewed last: the next review is about what changed since.
    pub(super) since: Option<Checkpoint>,
    /// Reviews running that failed.
    pub(super) failures: u32,
    /// How often the review that is due was cut off with ralph.
    pub(super) cut_off: u32,
}

/// Work that is under review.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// The task that was finished; none where the whole plan is.
    pub task: Option<String>,
    /// The run is done but for the review.
    pub claims_done: bool,
    /// Reviews that found something.
    pub rounds: u32,
    /// What the last of them found.
    pub findings: Findings,
}

impl Reviews {
    /// Takes in an event that follows what `view` is made of.
    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::ReviewRequested { task, claims_done, .. } => {
                let subject = self.subject.get_or_insert_default();
                subject.task = task.clone().or_else(|| subject.task.take());
                subject.claims_done = *claims_done;
                self.is_due = true;
            }
            Event::ReviewWithdrawn => self.leave(),
            Event::IterationStarted { role: Role::Work, .. } => {
                self.is_due = false;
                self.is_over = false;
                if let Some(subject) = &mut self.subject {
                    subject.claims_done = false;
                }
            }
            Event::IterationEnded { outcome, .. } if is_repeated(outcome) && !view.role.is_work() => self.cut_off += 1,
            Event::ReviewConcluded { result, .. } => self.conclude(view, result),
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
        // What nobody has looked at is a part of the next review.
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

    /// Whether a review that was cut off is made once more.
    /// [`REPEATS`] is the most.
    pub(super) fn may_repeat(&self) -> bool {
        self.cut_off <= REPEATS
    }

    /// The findings that the author is sent back with.
    pub(super) fn open_findings(&self) -> Option<&Subject> {
        let subject = self.subject.as_ref().filter(|_| !self.is_due)?;
        (subject.findings.count() > 0).then_some(subject)
    }
}

/// Whether a review that ended so is made once more, without the author in between.
pub(super) fn is_repeated(outcome: &Outcome) -> bool {
    *outcome == Outcome::Interrupted || outcome.found_no_live_channel()
}
