//! The breaker: stops a loop that gets nowhere.
//!
//! It goes by what ralph sees (tree, HEAD, ticked boxes, failures) and never by the agent's word. Half-open, the prompts
//! carry the diagnosis, so that the agent has a chance to try something else; open, the loop ends, or waits once where
//! waiting may help.

use crate::event::{
    BreakerCause, BreakerLimits, BreakerState, CancelReason, Event, Outcome, Problem, ProblemKind, StopReason, Wait,
    WaitCause,
};

use super::{feedback::Feedback, state::LoopState, step::Decision};

/// What the breaker has counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breaker {
    pub state: BreakerState,
    /// Why it is not closed; none while it is.
    pub why: Option<BreakerCause>,
    /// Iterations running without progress.
    pub no_progress: u32,
    /// Iterations running that failed as the last one did.
    pub same_error: u32,
    fingerprint: Option<String>,
    /// It has been open and waited before.
    pub cooled: bool,
}

/// What an iteration means for the breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Observation {
    Progress,
    NoProgress,
    Failed {
        fingerprint: String,
    },
    /// The user or a limit ended it, or nothing can be told.
    Nothing,
}

impl Observation {
    pub(super) fn of(outcome: &Outcome, progress: Option<bool>) -> Self {
        match (outcome, progress) {
            (_, Some(true)) => Observation::Progress,
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
    let mut text = problem.kind.to_string();
    let words = problem
        .text
        .split_whitespace()
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    for word in words.take(24) {
        text.push(' ');
        text.push_str(word);
    }
    text
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

    /// Where the counts put the breaker, and why.
    fn due(&self, limits: &BreakerLimits) -> (BreakerState, BreakerCause) {
        let stage = |count: u32, half: Option<u32>| match half {
            Some(half) if count >= half.saturating_mul(2) => BreakerState::Open,
            Some(half) if count >= half => BreakerState::HalfOpen,
            Some(_) | None => BreakerState::Closed,
        };
        let stuck = stage(self.no_progress, limits.no_progress);
        let failing = stage(self.same_error, limits.same_error);
        if stuck >= failing {
            let iterations = self.no_progress;
            (stuck, BreakerCause::NoProgress { iterations })
        } else {
            let iterations = self.same_error;
            (failing, BreakerCause::SameError { iterations })
        }
    }

    /// What the next prompts have to say about it.
    pub(super) fn diagnosis(&self) -> Option<Feedback> {
        match self.state {
            BreakerState::Closed => None,
            BreakerState::HalfOpen | BreakerState::Open => self.why.clone().map(|why| Feedback::Stuck { why }),
        }
    }
}

/// Whether the loop may go on after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    GoOn,
    /// The run was stopped, or waits.
    Denied,
}

/// Moves the breaker after an iteration was counted, and stops or delays the loop if it is open.
pub(super) fn judge(decision: &mut Decision, now_ms: u64, outcome: &Outcome, observation: &Observation) -> Permit {
    let breaker = &decision.state.breaker;
    let (due, why) = match observation {
        Observation::Progress => (BreakerState::Closed, BreakerCause::Progress),
        Observation::NoProgress | Observation::Failed { .. } => breaker.due(&decision.state.settings.breaker),
        Observation::Nothing => return Permit::GoOn,
    };
    // Only progress closes it: a failure of another kind is none. After a cooldown the counts are still those that
    // opened it, so that the one more try opens it again if it fails.
    let closes = *observation == Observation::Progress && breaker.state != BreakerState::Closed;
    if closes || due > breaker.state {
        decision.push(Event::BreakerMoved {
            to: due,
            why: why.clone(),
        });
    }
    if due != BreakerState::Open {
        return Permit::GoOn;
    }
    if may_wait(&decision.state, outcome, observation) {
        decision.push(Event::WaitStarted {
            wait: Wait::Cooldown,
            until_ms: now_ms.saturating_add(decision.state.settings.breaker.cooldown_ms),
            attempt: decision.state.breaker.same_error,
            why: WaitCause::Breaker { why },
        });
    } else {
        decision.stop(StopReason::BreakerOpen { why });
    }
    Permit::Denied
}

/// Waiting changes nothing about an agent that does nothing. A failure may pass: it gets one long wait, and an outage,
/// which is nobody's fault here, as many as the limits of the run allow.
fn may_wait(state: &LoopState, outcome: &Outcome, observation: &Observation) -> bool {
    if !matches!(observation, Observation::Failed { .. }) {
        return false;
    }
    let outage = matches!(
        outcome,
        Outcome::Failed {
            problem: Problem {
                kind: ProblemKind::Network | ProblemKind::Overloaded,
                ..
            }
        }
    );
    outage || !state.breaker.cooled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: ProblemKind, text: &str) -> Outcome {
        Outcome::Failed {
            problem: Problem {
                kind,
                text: text.to_owned(),
            },
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
