//! The maximum duration of ralph's own phases, and the consequences of exceeding it.
//!
//! A session has its own limits and a wait ends by itself. Every other phase waits for the result of some work (a
//! checkpoint, goals, the end of a session), and an agent can make any of these hang: a pipe in place of a file is
//! enough.

use crate::{
    event::{Bite, Breakdown, Event, IterationEvent, LimitKind, MUTANTS, Outcome, OwnWork, StopReason},
    notices,
    run::Phase,
};

use super::{decision::StepDecision, policy::max_time_at, settle::stop_if_at_once, state::LoopState};

const PHASE_MS: u64 = 600_000;
/// Time left for winding down after the run's time limit: enough for an ordinary checkpoint.
const WIND_DOWN_MS: u64 = 30_000;
/// Added to the goals' own timeouts: for ending goals that time out, and for reading the plan.
const GOALS_MARGIN_MS: u64 = 60_000;
/// Three grace periods of at most one minute each, as a manifest may set them, and one more for leftover processes.
const CANCEL_MS: u64 = 240_000;

/// The deadline of the current phase; `None` if the phase is not ralph's own work.
pub(super) fn deadline_of(state: &LoopState) -> Option<u64> {
    let bound_ms = bound_ms(state)?;
    let at_ms = state.view.clock.entered_ms.saturating_add(bound_ms);
    let winds_down = matches!(state.view.phase, Phase::Settling { .. } | Phase::Verifying { .. });
    let last_ms = max_time_at(state)
        .filter(|_| winds_down)
        .map(|over_ms| over_ms.max(state.view.clock.entered_ms).saturating_add(WIND_DOWN_MS));
    Some(last_ms.map_or(at_ms, |last_ms| last_ms.min(at_ms)))
}

fn bound_ms(state: &LoopState) -> Option<u64> {
    match state.view.phase {
        Phase::Preparing { .. } | Phase::Settling { .. } => {
            let own_ms = state.view.settings.limits.phase_timeout_ms.unwrap_or(PHASE_MS);
            // An iteration is prepared when the hooks have ended.
            let hooks = u64::try_from(state.view.hooks.running.len()).unwrap_or(u64::MAX);
            Some(own_ms.saturating_add(state.view.settings.hooks.timeout_ms.saturating_mul(hooks)))
        }
        Phase::Verifying { .. } => {
            let settings = &state.view.settings;
            let timeouts = state.view.running_goals().map(|goal| goal.timeout_ms);
            let once_ms = timeouts.fold(0, u64::saturating_add);
            // With the files as they are, with the original tests, with each mutant, and without the work.
            let runs = match settings.gate.bite {
                Bite::Off => 2,
                Bite::Report | Bite::Refuse | Bite::Require => 3 + u64::from(MUTANTS),
            };
            Some(once_ms.saturating_mul(runs).saturating_add(GOALS_MARGIN_MS))
        }
        Phase::Cancelling { .. } => Some(CANCEL_MS),
        _ => None,
    }
}

/// Ends a phase that exceeded its deadline, and records which phase it was.
pub(super) fn passed(decision: &mut StepDecision, now_ms: u64) {
    let Some(bound_ms) = bound_ms(&decision.state) else {
        return;
    };
    let role = decision.state.view.role;
    let work = match decision.state.view.phase.clone() {
        Phase::Cancelling {
            iteration,
            started_ms,
            reason,
        } => {
            decision.notice(notices::agent_left_behind(iteration, bound_ms));
            decision.push(Event::Iteration(IterationEvent::Ended {
                iteration,
                outcome: Outcome::Cancelled { reason },
                exit: None,
                duration_ms: now_ms.saturating_sub(started_ms),
                output_bytes: 0,
            }));
            return stop_if_at_once(decision);
        }
        Phase::Preparing { iteration } => OwnWork::Preparing { iteration, role },
        Phase::Settling { iteration, .. } => OwnWork::Settling { iteration, role },
        Phase::Verifying { .. } => OwnWork::Verifying,
        _ => return,
    };
    if max_time_at(&decision.state).is_some_and(|over_ms| now_ms >= over_ms) {
        decision.notice(notices::work_overdue(work));
        let limit = LimitKind::MaxTime;
        return decision.stop(StopReason::LimitReached { limit });
    }
    let after_ms = bound_ms;
    let why = Breakdown::TimedOut { work, after_ms };
    decision.stop(StopReason::Broken { why });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{CancelReason, GateSettings, Goal, Limits, Role},
        run::{GoalState, GoalStatus},
    };

    const ENTERED_MS: u64 = 100_000_000;
    const MINUTE_MS: u64 = 60_000;

    fn decision(phase: Phase, limits: Limits) -> StepDecision {
        let mut state = LoopState::default();
        state.view.phase = phase;
        state.view.clock.entered_ms = ENTERED_MS;
        state.view.clock.started_ms = ENTERED_MS - 10 * MINUTE_MS;
        state.view.settings.limits = limits;
        StepDecision::at(state, ENTERED_MS)
    }

    fn settling() -> Phase {
        Phase::Settling {
            iteration: 3,
            outcome: Outcome::Completed,
        }
    }

    #[test]
    fn settling_that_does_not_end_is_named_and_ends_the_run() {
        let mut decision = decision(settling(), Limits::default());
        let at_ms = deadline_of(&decision.state).unwrap();
        assert_eq!(at_ms, ENTERED_MS + 10 * MINUTE_MS);
        passed(&mut decision, at_ms);
        let why = Breakdown::TimedOut {
            work: OwnWork::Settling {
                iteration: 3,
                role: Role::Work,
            },
            after_ms: 10 * MINUTE_MS,
        };
        assert_eq!(decision.state.view.stop_reason(), Some(&StopReason::Broken { why }));
    }

    #[test]
    fn the_time_of_the_run_leaves_settling_half_a_minute() {
        let limits = Limits {
            max_time_ms: Some(11 * MINUTE_MS),
            ..Limits::default()
        };
        let mut decision = decision(settling(), limits);
        let at_ms = deadline_of(&decision.state).unwrap();
        assert_eq!(at_ms, ENTERED_MS + MINUTE_MS + WIND_DOWN_MS);
        passed(&mut decision, at_ms);
        let limit = LimitKind::MaxTime;
        assert_eq!(
            decision.state.view.stop_reason(),
            Some(&StopReason::LimitReached { limit })
        );
    }

    #[test]
    fn settling_that_begins_when_the_time_of_the_run_is_over_has_half_a_minute_too() {
        let limits = Limits {
            max_time_ms: Some(MINUTE_MS),
            ..Limits::default()
        };
        let decision = decision(settling(), limits);
        assert_eq!(deadline_of(&decision.state), Some(ENTERED_MS + WIND_DOWN_MS));
    }

    #[test]
    fn a_session_that_does_not_end_is_left_behind_and_its_iteration_settled() {
        let cancelling = Phase::Cancelling {
            iteration: 3,
            started_ms: ENTERED_MS - MINUTE_MS,
            reason: CancelReason::Skipped,
        };
        let mut decision = decision(cancelling, Limits::default());
        let at_ms = deadline_of(&decision.state).unwrap();
        passed(&mut decision, at_ms);
        let reason = CancelReason::Skipped;
        let outcome = Outcome::Cancelled { reason };
        assert_eq!(decision.state.view.phase, Phase::Settling { iteration: 3, outcome });
    }

    #[test]
    fn goals_have_the_time_of_all_their_runs_and_a_minute() {
        for (bite, runs) in [
            (Bite::Off, 2),
            // As they are, with the original tests, without the work, and with six mutants.
            (Bite::Refuse, 9),
        ] {
            let verifying = Phase::Verifying {
                iteration: 3,
                outcome: Outcome::Completed,
                ticks: false,
            };
            let mut state = decision(verifying, Limits::default()).state;
            state.view.settings.gate = GateSettings {
                bite,
                ..GateSettings::default()
            };
            let goal = |name: &str| Goal {
                name: name.to_owned(),
                timeout_ms: MINUTE_MS,
                ..Goal::default()
            };
            let status = |goal: &Goal| GoalStatus {
                state: GoalState::Running,
                ..GoalStatus::unknown(&goal.name)
            };
            let goals = vec![goal("tests"), goal("lint")];
            state.view.goals = goals.iter().map(status).collect();
            state.view.settings.goals = goals;
            let limit_ms = 2 * runs * MINUTE_MS + MINUTE_MS;
            assert_eq!(deadline_of(&state), Some(ENTERED_MS + limit_ms), "{bite:?}");
        }
    }
}
