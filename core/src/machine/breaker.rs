//! The breaker: stops a loop that gets nowhere.
//!
//! It goes by what ralph sees (tree, HEAD, ticked boxes, failures) and never by the agent's word. Half-open, the prompts
//! carry the diagnosis, so that the agent has a chance to try something else; open, the loop ends, or waits once where
//! waiting may help.

use crate::{
    event::{
        BreakerCause, BreakerLimits, BreakerState, Event, Outcome, Problem, ProblemKind, StopReason, Wait, WaitCause,
    },
    run::{Breaker, Observation},
};

use super::{decision::Decision, policy::takes_over, state::LoopState};

/// Where the counts put the breaker, and why.
fn due(breaker: &Breaker, limits: &BreakerLimits) -> (BreakerState, BreakerCause) {
    let stage = |count: u32, half: Option<u32>| match half {
        Some(half) if count >= half.saturating_mul(2) => BreakerState::Open,
        Some(half) if count >= half => BreakerState::HalfOpen,
        Some(_) | None => BreakerState::Closed,
    };
    let stuck = stage(breaker.no_progress, limits.no_progress);
    let failing = stage(breaker.same_error, limits.same_error);
    if stuck >= failing {
        let iterations = breaker.no_progress;
        (stuck, BreakerCause::NoProgress { iterations })
    } else {
        let iterations = breaker.same_error;
        (failing, BreakerCause::SameError { iterations })
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
    let breaker = &decision.state.view.breaker;
    let (due, why) = match observation {
        Observation::Progress => (BreakerState::Closed, BreakerCause::Progress),
        Observation::NoProgress | Observation::Failed { .. } => due(breaker, &decision.state.view.settings.breaker),
        Observation::Nothing => return Permit::GoOn,
    };
    // Whoever takes the task over may try once, however little the others came to.
    let due = match takes_over(&decision.state) {
        true => due.min(BreakerState::HalfOpen),
        false => due,
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
            until_ms: now_ms.saturating_add(decision.state.view.settings.breaker.cooldown_ms),
            attempt: decision.state.view.breaker.same_error,
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
    outage || !state.view.breaker.cooled
}
