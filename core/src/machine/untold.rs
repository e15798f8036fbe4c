//! Which ends of background tasks prompts have told of.

use crate::{
    event::{Event, Outcome, Requester},
    run::{BackgroundTask, RunView},
};

/// Background tasks that have ended, as far as prompts have to tell of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Untold {
    /// Those that no prompt has told of.
    numbers: Vec<u32>,
    /// Those of them that are in the prompt that is being prepared.
    offered: Vec<u32>,
    /// Those that the running session was told of.
    told: Vec<u32>,
}

impl Untold {
    /// Whether no prompt has told of this task.
    pub(super) fn has(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }

    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::BackgroundEnded { number, .. } => {
                // Whoever ended it knows that it has ended.
                let by_agent = |task: &BackgroundTask| task.cancelled_by == Some(Requester::Agent);
                if !view.background.task(*number).is_some_and(by_agent) {
                    self.numbers.push(*number);
                }
            }
            Event::PreparationStarted { .. } => self.offered.clone_from(&self.numbers),
            Event::IterationStarted { .. } => {
                self.told = std::mem::take(&mut self.offered);
                self.numbers.retain(|number| !self.told.contains(number));
            }
            // It is repeated, and its prompt written anew.
            Event::IterationEnded { outcome, .. } if is_repeated(outcome) => {
                let later = std::mem::replace(&mut self.numbers, std::mem::take(&mut self.told));
                self.numbers.extend(later);
            }
            _ => {}
        }
    }
}

fn is_repeated(outcome: &Outcome) -> bool {
    outcome.was_limited() || outcome.found_no_live_channel() || *outcome == Outcome::Interrupted
}
