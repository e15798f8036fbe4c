//! The circuit breaker: stops a loop that makes no progress.
//!
//! The breaker is driven by what ralph observes (tree, HEAD, ticked boxes, failures) and never by the agent's word.
//! Half-open, the prompts carry the diagnosis, so that the agent has a chance to try something else. Open, the loop
//! ends, or waits once where waiting may help.

use std::mem::discriminant;

use crate::{
    event::{BreakerCause, BreakerState, Event, Outcome, Problem, ProblemKind, StopReason, Wait, WaitCause},
    run::Observation,
};

use super::{decision::StepDecision, policy::takes_over, state::LoopState};

/// Returns the state that a count leads to.
fn stage(count: u32, half: Option<u32>) -> BreakerState {
    match half {
        Some(half) if count >= half.saturating_mul(2) => BreakerState::Open,
        Some(half) if count >= half => BreakerState::HalfOpen,
        Some(_) | None => BreakerState::Closed,
    }
}

/// Returns the state that the counts of iterations lead to, with its cause; `None` if the iteration does not count.
fn due_by_iterations(state: &LoopState, observation: &Observation) -> Option<(BreakerState, BreakerCause)> {
    let (breaker, limits) = (&state.view.breaker, &state.view.settings.breaker);
    match observation {
        Observation::Nothing => return None,
        Observation::Progress => return Some((BreakerState::Closed, BreakerCause::Progress)),
        Observation::NoProgress | Observation::Failed { .. } => {}
    }
    let stuck = stage(breaker.no_progress, limits.no_progress);
    let failing = stage(breaker.same_error, limits.same_error);
    Some(if stuck >= failing {
        let iterations = breaker.no_progress;
        (stuck, BreakerCause::NoProgress { iterations })
    } else {
        let iterations = breaker.same_error;
        (failing, BreakerCause::SameError { iterations })
    })
}

/// Returns the state that claims refused because of goals lead to, with its cause; `None` if the latest iteration has
/// no such claim.
fn due_by_goals(state: &LoopState, outcome: &Outcome) -> Option<(BreakerState, BreakerCause)> {
    let (breaker, limits) = (&state.view.breaker, &state.view.settings.breaker);
    let look = state.view.iterations.latest_assessment();
    let iterations = breaker.same_goal_failure;
    if !Observation::is_telling(outcome) || look.refused.is_empty() || iterations == 0 {
        return None;
    }
    let failed = look.goals.iter().find(|result| !result.passed)?;
    let cause = BreakerCause::SameGoalFailure {
        goal: failed.name.clone().into(),
        why: failed.why.clone(),
        iterations,
    };
    let stuck = match iterations >= breaker.no_progress {
        // The goal is what the iterations without progress had to fix.
        true => stage(breaker.no_progress, limits.no_progress),
        false => BreakerState::Closed,
    };
    Some((stage(iterations, limits.same_error).max(stuck), cause))
}

/// Returns the more severe of both states, with its cause. A failing goal tells the user more than a count of
/// iterations.
fn due(state: &LoopState, outcome: &Outcome, observation: &Observation) -> Option<(BreakerState, BreakerCause)> {
    let by_goals = due_by_goals(state, outcome).filter(|(stage, _)| *stage != BreakerState::Closed);
    match (due_by_iterations(state, observation), by_goals) {
        (Some(by_iterations), Some(by_goals)) if by_iterations.0 > by_goals.0 => Some(by_iterations),
        (_, Some(by_goals)) => Some(by_goals),
        (by_iterations, None) => by_iterations,
    }
}

/// Whether the loop may continue after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopControl {
    Continue,
    /// The run was stopped, or waits.
    Halt,
}

/// Moves the breaker after an iteration was counted, and stops or delays the loop if it is open.
pub(super) fn judge(
    decision: &mut StepDecision,
    now_ms: u64,
    outcome: &Outcome,
    observation: &Observation,
) -> LoopControl {
    let Some((due, why)) = due(&decision.state, outcome, observation) else {
        return LoopControl::Continue;
    };
    // A worker that takes over gets at least one try, regardless of the earlier workers' counts.
    let due = match takes_over(&decision.state) {
        true => due.min(BreakerState::HalfOpen),
        false => due,
    };
    // Only progress closes the breaker; a failure of another kind does not. A cooldown keeps the counts, so that the
    // breaker reopens if the one try after it fails.
    let breaker = &decision.state.view.breaker;
    let is_another = breaker.why.as_ref().map(discriminant) != Some(discriminant(&why));
    let moves_on = *observation == Observation::Progress && breaker.state != BreakerState::Closed && is_another;
    if moves_on || due > breaker.state {
        decision.push(Event::BreakerMoved {
            to: due,
            why: why.clone(),
        });
    }
    if due != BreakerState::Open {
        return LoopControl::Continue;
    }
    if may_wait(&decision.state, outcome, observation, &why) {
        decision.push(Event::WaitStarted {
            wait: Wait::Cooldown,
            until_ms: now_ms.saturating_add(decision.state.view.settings.breaker.cooldown_ms),
            attempt: decision.state.view.breaker.same_error,
            why: WaitCause::Breaker { why },
        });
    } else {
        decision.stop(StopReason::BreakerOpen { why });
    }
    LoopControl::Halt
}

/// Whether a wait may help. It does not against an idle agent or a failing goal. A failure may pass, so it gets one
/// long wait; an outage, which is outside the agent's control, gets as many as the limits of the run allow.
fn may_wait(state: &LoopState, outcome: &Outcome, observation: &Observation, why: &BreakerCause) -> bool {
    let is_of_goal = matches!(why, BreakerCause::SameGoalFailure { .. });
    if is_of_goal || !matches!(observation, Observation::Failed { .. }) {
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
