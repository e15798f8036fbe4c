//! What of the goals that were run after edits is news to the agent, and what its next prompt says.

use crate::{
    event::{AgentCall, Event, GoalResult, Missing},
    run::without_numbers,
};

/// Words of a goal's output that two failures are compared by.
const WORDS: usize = 200;

/// What goals came to that were run after edits, as far as it is to be said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AfterEdits {
    /// The last results of those that fail.
    failed: Vec<GoalResult>,
    /// Those that the agent knows to fail, with how.
    told: Vec<(String, String)>,
}

impl AfterEdits {
    /// What failed when it was last run, if no prompt tells of it yet.
    pub(super) fn failed(&self) -> Vec<Missing> {
        let failed = self.failed.iter().map(|result| Missing::GoalFailed {
            goal: result.name.clone(),
            why: result.why.clone(),
            output_tail: result.tail.clone(),
        });
        failed.collect()
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            // Its prompt has told of them.
            Event::IterationStarted { role, .. } if role.is_work() => {
                let failed = std::mem::take(&mut self.failed);
                self.told = failed.iter().map(known).collect();
            }
            Event::EditsChecked { results, news, .. } => {
                for result in results {
                    self.take(result);
                    if news.contains(&result.name) && !result.passed {
                        self.told.retain(|(name, _)| *name != result.name);
                        self.told.push(known(result));
                    }
                }
            }
            // It knows from its own look.
            Event::AgentCalled {
                call: AgentCall::GoalsChecked { failed, .. },
                ..
            } => {
                self.failed.retain(|known| failed.contains(&known.name));
                self.told.retain(|(name, _)| failed.contains(name));
            }
            Event::GoalChecked { result, .. } => {
                let is_known = self.failed.iter().any(|known| known.name == result.name);
                if is_known {
                    self.take(result);
                }
            }
            // It says what failed.
            Event::ClaimRefused { .. } => self.failed.clear(),
            _ => {}
        }
    }

    fn take(&mut self, result: &GoalResult) {
        self.failed.retain(|known| known.name != result.name);
        if result.passed {
            self.told.retain(|(name, _)| *name != result.name);
        } else {
            self.failed.push(result.clone());
        }
    }

    /// Whether `result` is a failure that the agent does not know, or the end of one that it knows.
    pub(super) fn is_news(&self, result: &GoalResult) -> bool {
        let told = self.told.iter().find(|(name, _)| *name == result.name);
        match told {
            Some(told) => result.passed || *told != known(result),
            None => !result.passed,
        }
    }
}

/// The goal, and how it failed without what differs each time.
fn known(result: &GoalResult) -> (String, String) {
    let words: Vec<&str> = without_numbers(&result.tail).take(WORDS).collect();
    (result.name.clone(), format!("{:?} {}", result.exit, words.join(" ")))
}
