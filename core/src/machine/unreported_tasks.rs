//! Tracks the ends of background tasks that prompts still have to mention.

use crate::{
    event::{BackgroundEvent, Event, IterationEvent, Outcome, Requester},
    run::{BackgroundTask, RunView},
};

/// Ended background tasks, by whether prompts have mentioned them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnreportedTasks {
    /// The tasks that no prompt has mentioned.
    unreported: Vec<u32>,
    /// The tasks in the prompt that is being prepared.
    offered: Vec<u32>,
    /// The tasks in the prompt of the running session.
    reported: Vec<u32>,
}

impl UnreportedTasks {
    /// Whether no prompt has mentioned this task.
    pub(super) fn has(&self, number: u32) -> bool {
        self.unreported.contains(&number)
    }

    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::Background(BackgroundEvent::Ended { number, .. }) => {
                // An agent that cancelled the task itself knows that it ended.
                let by_agent = |task: &BackgroundTask| task.cancelled_by == Some(Requester::Agent);
                if !view.background.task(*number).is_some_and(by_agent) {
                    self.unreported.push(*number);
                }
            }
            Event::Iteration(IterationEvent::PreparationStarted { .. }) => self.offered.clone_from(&self.unreported),
            Event::Iteration(IterationEvent::Started { .. }) => {
                self.reported = std::mem::take(&mut self.offered);
                self.unreported.retain(|number| !self.reported.contains(number));
            }
            // The iteration is repeated with a new prompt.
            Event::Iteration(IterationEvent::Ended { outcome, .. }) if is_repeated(outcome) => {
                let later = std::mem::replace(&mut self.unreported, std::mem::take(&mut self.reported));
                self.unreported.extend(later);
            }
            _ => {}
        }
    }
}

fn is_repeated(outcome: &Outcome) -> bool {
    outcome.was_limited() || outcome.found_no_live_channel() || *outcome == Outcome::Interrupted
}
