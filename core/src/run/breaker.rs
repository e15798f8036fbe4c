//! What the breaker has counted: how long a loop has got nowhere.
//!
//! It goes by what ralph sees (tree, HEAD, ticked boxes, failures) and never by the agent's word.

use serde::{Deserialize, Serialize};

use crate::event::{BreakerCause, BreakerState, CancelReason, Outcome, Problem, ProblemKind};

/// What the breaker has counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    pub state: BreakerState,
    /// Why it is not closed; none while it is.
    pub why: Option<BreakerCause>,
    /// Iterations running without progress.
    pub no_progress: u32,
    /// Iterations running that failed as the last one did.
    pub same_error: u32,
    /// Kind and text of the last failure, without what differs each time.
    fingerprint: Option<String>,
    /// It has been open and waited before.
    pub cooled: bool,
}

/// What an iteration means for the breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Progress,
    NoProgress,
    Failed {
        fingerprint: String,
    },
    /// The user or a limit ended it, or nothing can be told.
    Nothing,
}

impl Observation {
    /// Judges an iteration by its outcome and by whether it got somewhere.
    pub fn of(outcome: &Outcome, progress: Option<bool>) -> Self {
        match (outcome, progress) {
            (_, Some(true)) => Observation::Progress,
            (outcome, _) if outcome.found_no_live_channel() => Observation::Nothing,
            (Outcome::Failed { problem }, Some(false) | None) => Observation::of_problem(problem),
            (
                Outcome::Cancelled {
                    reason: CancelReason::IdleTimeout,
                },
                Some(false) | None,
            ) => Observation::Failed {
                fingerprint: "idle".to_owned(),
            },
            (Outcome::Completed, Some(false))
            | (
                Outcome::Cancelled {
                    reason: CancelReason::IterationTimeout,
                },
                Some(false),
            ) => Observation::NoProgress,
            (Outcome::Completed | Outcome::Cancelled { .. }, None)
            | (Outcome::Cancelled { .. } | Outcome::Interrupted, Some(false))
            | (Outcome::Interrupted, None) => Observation::Nothing,
        }
    }

    fn of_problem(problem: &Problem) -> Self {
        match problem.kind {
            // Waited for until they reset; nobody gets anywhere meanwhile.
            ProblemKind::RateLimited { .. } | ProblemKind::QuotaExhausted { .. } => Observation::Nothing,
            ProblemKind::PermissionDenied | ProblemKind::TurnLimit | ProblemKind::SessionLost => {
                Observation::NoProgress
            }
            ProblemKind::NotInstalled
            | ProblemKind::Auth
            | ProblemKind::ModelUnknown
            | ProblemKind::Usage
            | ProblemKind::Overloaded
            | ProblemKind::Network
            | ProblemKind::ContextOverflow
            | ProblemKind::Crashed
            | ProblemKind::Hung
            | ProblemKind::Flood
            | ProblemKind::Other => Observation::Failed {
                fingerprint: fingerprint(problem),
            },
        }
    }
}

/// A failure's kind and text without what differs each time: numbers, ids, times.
fn fingerprint(problem: &Problem) -> String {
    let mut text = format!("{:?}", problem.kind);
    for word in without_numbers(&problem.text).take(24) {
        text.push(' ');
        text.push_str(word);
    }
    text
}

/// The words of a text that are the same each time: numbers, ids and times are not.
pub(crate) fn without_numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
}

impl Breaker {
    /// Counts an iteration. Called when its settlement is recorded.
    pub(super) fn count(&mut self, observation: &Observation) {
        match observation {
            Observation::Progress => {
                *self = Breaker {
                    state: self.state,
                    why: self.why.take(),
                    ..Breaker::default()
                }
            }
            Observation::NoProgress => {
                self.no_progress += 1;
                self.same_error = 0;
                self.fingerprint = None;
            }
            Observation::Failed { fingerprint } => {
                let same = self.fingerprint.as_deref() == Some(fingerprint);
                self.same_error = if same { self.same_error + 1 } else { 1 };
                self.fingerprint = Some(fingerprint.clone());
            }
            Observation::Nothing => {}
        }
    }

    pub(super) fn enter(&mut self, to: BreakerState, why: &BreakerCause) {
        match to {
            BreakerState::Closed => *self = Breaker::default(),
            BreakerState::HalfOpen => {
                self.cooled |= self.state == BreakerState::Open;
                self.state = to;
                self.why = Some(why.clone());
            }
            BreakerState::Open => {
                self.state = to;
                self.why = Some(why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: ProblemKind, text: &str) -> Outcome {
        Outcome::Failed {
            problem: Problem::said(kind, text.to_owned()),
        }
    }

    fn counted(outcomes: &[(Outcome, Option<bool>)]) -> Breaker {
        let mut breaker = Breaker::default();
        for (outcome, progress) in outcomes {
            breaker.count(&Observation::of(outcome, *progress));
        }
        breaker
    }

    #[test]
    fn failures_that_differ_only_in_numbers_are_the_same() {
        let one = (failed(ProblemKind::Other, "request 17 failed at 12:01:02"), Some(false));
        let other = (failed(ProblemKind::Other, "request 18 failed at 12:03:44"), Some(false));
        assert_eq!(counted(&[one.clone(), other]).same_error, 2);
        let different = (failed(ProblemKind::Other, "the disk is full"), Some(false));
        assert_eq!(counted(&[one, different]).same_error, 1);
    }

    #[test]
    fn progress_forgets_everything() {
        let stuck = (Outcome::Completed, Some(false));
        let breaker = counted(&[stuck.clone(), stuck.clone(), (Outcome::Completed, Some(true)), stuck]);
        assert_eq!(breaker.no_progress, 1);
    }

    #[test]
    fn waiting_for_a_limit_is_not_held_against_the_loop() {
        let limited = (failed(ProblemKind::RateLimited { until_ms: None }, "429"), Some(false));
        let breaker = counted(&[limited.clone(), limited.clone(), limited]);
        assert_eq!((breaker.no_progress, breaker.same_error), (0, 0));
    }
}
