//! The circuit breaker: stops a loop that makes no progress.
//!
//! The breaker is driven by what ralph observes (tree, HEAD, ticked boxes, failures) and never by the agent's word.
//! Half-open, the prompts carry the diagnosis, so that the agent has a chance to try something else. Open, the loop
//! ends, or waits once where waiting may help.

use std::mem::discriminant;

use crate::{
    event::{
        BreakerCause, BreakerState, Event, GoalSince, List, Missing, Outcome, Problem, ProblemKind, StopReason,
        TimeEvent, Wait, WaitCause,
    },
    run::{Observation, goal_since, standing_refusal},
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
        since: GoalSince::default(),
    };
    let stuck = match iterations >= breaker.no_progress {
        // The goal is what the iterations without progress had to fix.
        true => stage(breaker.no_progress, limits.no_progress),
        false => BreakerState::Closed,
    };
    // The goal would refuse the same work again, and has never let any pass.
    let repeated = match goal_since(&state.view, &failed.name) {
        GoalSince::Always if limits.no_progress.is_some() => stage(breaker.no_progress.min(iterations - 1), Some(1)),
        _ => BreakerState::Closed,
    };
    Some((stage(iterations, limits.same_error).max(stuck).max(repeated), cause))
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
        decision.push(Event::Time(TimeEvent::WaitStarted {
            wait: Wait::Cooldown,
            until_ms: now_ms.saturating_add(decision.state.view.settings.breaker.cooldown_ms),
            attempt: decision.state.view.breaker.same_error,
            why: WaitCause::Breaker { why },
        }));
    } else {
        let why = cause_of_end(&decision.state, why);
        decision.stop(StopReason::BreakerOpen { why });
    }
    LoopControl::Halt
}

/// Returns why a run ends that the breaker stops: what its claims were refused for says more than what was counted.
fn cause_of_end(state: &LoopState, counted: BreakerCause) -> BreakerCause {
    match counted {
        // A plan that nobody can read is not done, whether the agent claims it or not.
        BreakerCause::NoProgress { .. } if state.unreadable_since().is_some() => BreakerCause::ClaimRefused {
            reason: Box::new(Missing::PlanUnreadable),
            files: List::default(),
            iteration: None,
            times: 0,
        },
        BreakerCause::NoProgress { .. } => {
            let Some(refusal) = standing_refusal(&state.view) else {
                return counted;
            };
            let times = refusal.times;
            match refusal.reason {
                Missing::GoalFailed { goal, why, .. } => BreakerCause::SameGoalFailure {
                    goal: goal.clone(),
                    why: why.clone(),
                    iterations: times,
                    since: goal_since(&state.view, goal),
                },
                reason => BreakerCause::ClaimRefused {
                    reason: Box::new(reason.clone().without_output()),
                    files: refusal.files.into_iter().cloned().collect(),
                    iteration: refusal.iteration,
                    times,
                },
            }
        }
        BreakerCause::SameGoalFailure {
            goal, why, iterations, ..
        } => BreakerCause::SameGoalFailure {
            since: goal_since(&state.view, &goal),
            goal,
            why,
            iterations,
        },
        counted => counted,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{
            AgentSignal, BreakerLimits, CancelReason, Claim, Exit, Goal, GoalsWhen, IterationEvent, LimitKind,
            PlanSnapshot, Settings, SubagentReport, UserCommand,
        },
        machine::{
            Input, Settlement, Verification,
            gate_tests::goal,
            testing::{self, NOW_MS, Run},
        },
        run::Phase,
    };

    const COOLDOWN_MS: u64 = 9_000;

    /// A run without tasks, with a goal that fails in the same way each time it is run.
    fn begun(no_progress: Option<u32>, same_error: Option<u32>) -> Run {
        Run::begun(settings(no_progress, same_error))
    }

    fn settings(no_progress: Option<u32>, same_error: Option<u32>) -> Settings {
        let goal = Goal {
            name: "tests".to_owned(),
            ..Goal::default()
        };
        Settings {
            goals: vec![goal],
            breaker: BreakerLimits {
                no_progress,
                same_error,
                cooldown_ms: COOLDOWN_MS,
            },
            ..Settings::default()
        }
    }

    /// The result of an iteration.
    #[derive(Clone, Copy)]
    enum Work {
        Idle,
        Progress,
        /// Subagents on more levels than the limit allows.
        FanOut,
        Failure(ProblemKind),
        /// A claim that the goal refutes.
        Claim {
            moved: bool,
        },
    }

    fn iterate(run: &mut Run, work: Work) {
        if matches!(run.state.view.phase, Phase::Waiting { .. }) {
            run.command(UserCommand::RetryNow);
        }
        let plan = PlanSnapshot::default;
        run.prepared(testing::preparation(plan()));
        let (mut ok, mut moved, mut claims) = (true, false, vec![]);
        match work {
            Work::Idle => {}
            Work::Progress => moved = true,
            Work::FanOut => {
                for (id, parent) in [("1", None), ("2", Some("1")), ("3", Some("2"))] {
                    let subagent = Box::new(SubagentReport {
                        id: id.to_owned(),
                        parent: parent.map(str::to_owned),
                        running: true,
                        ..SubagentReport::default()
                    });
                    run.signal(AgentSignal::Subagent { subagent });
                }
            }
            Work::Failure(kind) => {
                ok = false;
                let problem = Problem::said(kind, "no answer");
                run.signal(AgentSignal::Problem { problem });
            }
            Work::Claim { moved: has_moved } => {
                moved = has_moved;
                claims = vec![Claim::Promise];
            }
        }
        run.signal(AgentSignal::TurnEnded { ok, message: None });
        run.signal(AgentSignal::Ended {
            exit: Some(Exit::Code { code: i32::from(!ok) }),
            output_bytes: 1,
        });
        run.settled(Settlement {
            claims,
            moved: Some(moved),
            ..Settlement::from_plan(Ok(plan()), 0.0)
        });
        if let Phase::Verifying { iteration, .. } = run.state.view.phase {
            let verification = Verification {
                notices: Vec::new(),
                results: vec![goal(false, None)],
                trial: None,
                broken: None,
                mutants: Vec::new(),
                plan: Ok(plan()),
                vanished: Vec::new(),
                added: Vec::new(),
                random: 0.0,
            };
            run.take(&Input::Verified {
                iteration,
                verification: Box::new(verification),
            });
        }
    }

    fn iterate_all(run: &mut Run, works: &[Work]) {
        works.iter().for_each(|work| iterate(run, *work));
    }

    /// The moves of the breaker.
    fn moves(run: &Run) -> Vec<(BreakerState, BreakerCause)> {
        let moves = run.history.iter().filter_map(|event| match event {
            Event::BreakerMoved { to, why } => Some((*to, why.clone())),
            _ => None,
        });
        moves.collect()
    }

    /// The end by a goal that has not passed.
    fn never_passed(iterations: u32) -> BreakerCause {
        let mut cause = same_goal(iterations);
        if let BreakerCause::SameGoalFailure { since, .. } = &mut cause {
            *since = GoalSince::Always;
        }
        cause
    }

    fn is_stopped_for(run: &Run, cause: &BreakerCause) -> bool {
        matches!(run.state.view.stop_reason(), Some(StopReason::BreakerOpen { why }) if why == cause)
    }

    fn cools_down(run: &Run) -> bool {
        let wait = Wait::Cooldown;
        matches!(run.state.view.phase, Phase::Waiting { wait: found, until_ms, .. }
            if found == wait && until_ms == NOW_MS + COOLDOWN_MS)
    }

    fn idle(iterations: u32) -> BreakerCause {
        BreakerCause::NoProgress { iterations }
    }

    fn same_error(iterations: u32) -> BreakerCause {
        BreakerCause::SameError { iterations }
    }

    fn same_goal(iterations: u32) -> BreakerCause {
        BreakerCause::SameGoalFailure {
            goal: "tests".into(),
            why: None,
            iterations,
            since: GoalSince::default(),
        }
    }

    #[test]
    fn iterations_that_only_start_too_many_subagents_open_the_breaker() {
        let mut settings = settings(Some(3), None);
        settings.limits.subagents.depth = Some(2);
        let mut run = Run::begun(settings);
        iterate_all(&mut run, &[Work::FanOut; 6]);
        let limit = CancelReason::Limit(LimitKind::SubagentDepth);
        let ended = run.history.iter().filter(
            |event| matches!(event, Event::Iteration(IterationEvent::CancelRequested { reason, .. }) if *reason == limit),
        );
        assert_eq!(ended.count(), 6);
        assert!(is_stopped_for(&run, &idle(6)), "{:?}", run.state.view.phase);
    }

    #[test]
    fn idle_iterations_open_the_breaker_in_two_stages_and_end_the_run_without_a_wait() {
        let mut run = begun(Some(3), None);
        iterate_all(&mut run, &[Work::Idle; 5]);
        assert_eq!(moves(&run), [(BreakerState::HalfOpen, idle(3))]);
        assert!(!run.state.view.is_over());
        iterate(&mut run, Work::Idle);
        assert_eq!(moves(&run)[1..], [(BreakerState::Open, idle(6))]);
        assert!(is_stopped_for(&run, &idle(6)), "{:?}", run.state.view.phase);
    }

    #[test]
    fn progress_closes_the_breaker_once_and_begins_the_counts_anew() {
        let mut run = begun(Some(2), None);
        iterate_all(&mut run, &[Work::Progress, Work::Idle, Work::Progress, Work::Idle]);
        assert_eq!(moves(&run), []);
        iterate_all(&mut run, &[Work::Idle, Work::Progress, Work::Progress, Work::Idle]);
        assert_eq!(
            moves(&run),
            [
                (BreakerState::HalfOpen, idle(2)),
                (BreakerState::Closed, BreakerCause::Progress)
            ]
        );
    }

    #[test]
    fn a_failure_that_repeats_gets_one_long_wait_and_an_outage_one_after_each_try() {
        for (kind, is_outage) in [(ProblemKind::Crashed, false), (ProblemKind::Network, true)] {
            let mut run = begun(Some(9), Some(1));
            iterate(&mut run, Work::Failure(kind));
            assert!(!cools_down(&run), "{kind:?}");
            iterate(&mut run, Work::Failure(kind));
            assert!(cools_down(&run), "{:?}", run.state.view.phase);
            iterate(&mut run, Work::Failure(kind));
            assert_eq!(
                moves(&run),
                [
                    (BreakerState::HalfOpen, same_error(1)),
                    (BreakerState::Open, same_error(2)),
                    (BreakerState::HalfOpen, BreakerCause::OneMoreTry),
                    (BreakerState::Open, same_error(3)),
                ]
            );
            assert_eq!(cools_down(&run), is_outage, "{kind:?}");
            assert_eq!(is_stopped_for(&run, &same_error(3)), !is_outage, "{kind:?}");
        }
    }

    #[test]
    fn a_goal_that_fails_alike_ends_the_run_although_the_files_change() {
        let mut run = begun(Some(9), Some(2));
        iterate_all(&mut run, &[Work::Claim { moved: true }; 3]);
        assert_eq!(moves(&run), [(BreakerState::HalfOpen, same_goal(2))]);
        iterate(&mut run, Work::Claim { moved: true });
        assert!(is_stopped_for(&run, &never_passed(4)), "{:?}", run.state.view.phase);
    }

    #[test]
    fn a_failing_goal_is_named_as_the_cause_if_all_idle_iterations_claimed_to_be_done() {
        let claim = Work::Claim { moved: false };
        let mut run = begun(Some(3), None);
        run.state.view.goals[0].passed_with = Some(0);
        iterate_all(&mut run, &[claim; 3]);
        assert_eq!(moves(&run), [(BreakerState::HalfOpen, same_goal(3))]);
        let mut run = begun(Some(3), None);
        run.state.view.goals[0].passed_with = Some(0);
        iterate_all(&mut run, &[Work::Idle, claim, claim]);
        assert_eq!(moves(&run), [(BreakerState::HalfOpen, idle(3))]);
    }

    #[test]
    fn a_goal_that_has_never_passed_ends_the_run_once_the_same_work_was_claimed_twice_more() {
        let (first, again) = (Work::Claim { moved: true }, Work::Claim { moved: false });
        let mut run = begun(Some(3), None);
        iterate_all(&mut run, &[first, again]);
        assert_eq!(moves(&run), [(BreakerState::HalfOpen, same_goal(2))]);
        iterate(&mut run, again);
        assert!(is_stopped_for(&run, &never_passed(3)), "{:?}", run.state.view.phase);

        let mut run = begun(Some(3), None);
        iterate_all(&mut run, &[first, again, first, again]);
        assert!(!run.state.view.is_over(), "the work changes");

        let mut run = begun(None, None);
        iterate_all(&mut run, &[again; 9]);
        assert!(!run.state.view.is_over(), "no limit");
    }

    #[test]
    fn the_graver_cause_counts_and_the_end_names_what_refused_the_claim() {
        let mut run = begun(Some(1), Some(1));
        iterate_all(&mut run, &[Work::Idle, Work::Claim { moved: false }]);
        assert_eq!(moves(&run).last(), Some(&(BreakerState::Open, idle(2))));
        assert!(is_stopped_for(&run, &never_passed(1)), "{:?}", run.state.view.phase);
    }

    #[test]
    fn a_goal_that_fails_without_a_claim_does_not_hold_progress_against_the_loop() {
        let mut run = Run::begun(Settings {
            goals_when: GoalsWhen::Iteration,
            ..settings(None, Some(2))
        });
        iterate_all(&mut run, &[Work::Claim { moved: true }; 2]);
        iterate(&mut run, Work::Progress);
        assert_eq!(
            moves(&run),
            [
                (BreakerState::HalfOpen, same_goal(2)),
                (BreakerState::Closed, BreakerCause::Progress)
            ]
        );
    }
}
