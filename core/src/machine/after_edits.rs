//! Results of goals that are run after edits: which of them are new to the agent, and which the next prompt mentions.

use crate::{
    event::{AgentCall, Event, GoalResult, Missing},
    run::without_numbers,
};

/// Words of a goal's output by which two failures are compared.
const WORDS: usize = 200;

/// The results of goals that were run after edits, as far as the agent has to be told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AfterEdits {
    /// The latest results of the failing goals.
    failed: Vec<GoalResult>,
    /// The failures that the agent knows, as name and signature.
    known_failures: Vec<(String, String)>,
}

impl AfterEdits {
    /// The failures of the last check that no prompt has mentioned yet.
    pub(super) fn failed(&self) -> Vec<Missing> {
        let failed = self.failed.iter().map(|result| Missing::GoalFailed {
            goal: result.name.clone().into(),
            why: result.why.clone(),
            output_tail: (&*result.tail).into(),
        });
        failed.collect()
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            // The prompt has mentioned them.
            Event::IterationStarted { role, .. } if role.is_work() => {
                let failed = std::mem::take(&mut self.failed);
                self.known_failures = failed.iter().map(failure_signature).collect();
            }
            Event::EditsChecked { results, news, .. } => {
                for result in results {
                    self.take(result);
                    if news.contains(&result.name) && !result.passed {
                        self.known_failures.retain(|(name, _)| *name != result.name);
                        self.known_failures.push(failure_signature(result));
                    }
                }
            }
            // The agent knows these results from running the goals itself.
            Event::AgentCalled {
                call: AgentCall::GoalsChecked { failed, .. },
                ..
            } => {
                self.failed
                    .retain(|known| failed.iter().any(|name| *name == known.name));
                self.known_failures
                    .retain(|(known, _)| failed.iter().any(|name| name == known));
            }
            Event::GoalChecked { result, .. } => {
                let is_known = self.failed.iter().any(|known| known.name == result.name);
                if is_known {
                    self.take(result);
                }
            }
            // The refusal lists the failures.
            Event::ClaimRefused { .. } => self.failed.clear(),
            _ => {}
        }
    }

    fn take(&mut self, result: &GoalResult) {
        self.failed.retain(|known| known.name != result.name);
        if result.passed {
            self.known_failures.retain(|(name, _)| *name != result.name);
        } else {
            self.failed.push(result.clone());
        }
    }

    /// Whether `result` is a failure that the agent does not know, or the end of one that it knows.
    pub(super) fn is_news(&self, result: &GoalResult) -> bool {
        let before = self.known_failures.iter().find(|(name, _)| *name == result.name);
        match before {
            Some(before) => result.passed || *before != failure_signature(result),
            None => !result.passed,
        }
    }
}

/// The name of the goal and a signature of its failure, without numbers that vary.
fn failure_signature(result: &GoalResult) -> (String, String) {
    let words: Vec<&str> = without_numbers(&result.tail).take(WORDS).collect();
    (result.name.clone(), format!("{:?} {}", result.exit, words.join(" ")))
}
