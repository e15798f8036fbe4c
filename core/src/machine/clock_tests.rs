//! Tests of the effects of a wall clock that jumps.

use crate::{
    event::{
        AgentSignal, Event, IterationEvent, Limits, NewLimits, PlanSnapshot, RequestedBy, Settings, TimeEvent,
        UserCommand, Wait, WaitCause,
    },
    run::Phase,
};

use super::{
    Effect, Input, LoopState, Step, Timer, TimerKind,
    policy::{call_budget_until, max_time_at},
    step, testing,
};

const START_MS: u64 = 100_000_000;
const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: u64 = 60_000;

fn start(limits: Limits) -> LoopState {
    let start = testing::start(Settings {
        limits,
        ..Settings::default()
    });
    step(LoopState::default(), START_MS, &Input::Start(Box::new(start))).state
}

fn limits() -> Limits {
    Limits {
        max_time_ms: Some(60 * MINUTE_MS),
        iteration_timeout_ms: Some(10 * MINUTE_MS),
        idle_timeout_ms: Some(MINUTE_MS),
        calls_per_hour: Some(1),
        max_steps: None,
        ..Limits::default()
    }
}

fn running() -> LoopState {
    let preparation = testing::preparation(PlanSnapshot {
        tasks: vec![testing::task("task", false)],
    });
    let prepared = Input::Prepared {
        iteration: 1,
        result: Ok(preparation),
    };
    step(start(limits()), START_MS, &prepared).state
}

fn waiting(wait: Wait, until_ms: u64) -> LoopState {
    let mut state = start(limits());
    state.apply_event(
        START_MS,
        &Event::Time(TimeEvent::WaitStarted {
            wait,
            until_ms,
            attempt: 1,
            why: WaitCause::BegunBefore,
        }),
    );
    state
}

/// Moves the wall clock one minute after the start, as measured by a monotonic clock.
fn moved(state: LoopState, gap_ms: i64) -> (Step, u64) {
    let now_ms = (START_MS + MINUTE_MS).saturating_add_signed(gap_ms);
    (step(state, now_ms, &Input::ClockMoved { gap_ms }), now_ms)
}

fn armed(step: &Step, kind: TimerKind) -> Option<Timer> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::Arm { timer } if timer.kind == kind => Some(*timer),
        _ => None,
    })
}

#[test]
fn limits_of_run_and_iteration_move_with_the_clock_whichever_way_it_goes() {
    for gap_ms in [2 * HOUR_MS, -2 * HOUR_MS] {
        let (moved, now_ms) = moved(running(), gap_ms);
        assert_eq!(
            armed(&moved, TimerKind::MaxTime).unwrap().at_ms,
            now_ms + 59 * MINUTE_MS
        );
        assert_eq!(
            armed(&moved, TimerKind::IterationTimeout).unwrap().at_ms,
            now_ms + 9 * MINUTE_MS
        );
        let probe = armed(&moved, TimerKind::Idle).unwrap().at_ms;
        assert!(probe > now_ms && probe <= now_ms + MINUTE_MS, "{probe}");
        assert_eq!(moved.state.view.clock.now_ms, now_ms);
        assert_eq!(moved.state.view.totals().elapsed_ms, MINUTE_MS);
    }
}

#[test]
fn the_user_gives_a_running_run_more_time_and_iterations_and_adds_a_limit_on_money() {
    let given = |max_time_ms, max_iterations, max_cost_usd| Input::Command {
        command: UserCommand::SetLimits {
            limits: NewLimits {
                max_iterations,
                max_time_ms,
                max_cost_usd,
                ..NewLimits::default()
            },
        },
        by: RequestedBy::User,
    };
    let before = running();
    let begun_ms = before.view.clock.started_ms;
    let more = step(before, START_MS, &given(Some(120 * MINUTE_MS), Some(80), None));
    assert_eq!(more.events.len(), 1);
    let timer = armed(&more, TimerKind::MaxTime).unwrap();
    assert_eq!(
        timer.at_ms,
        begun_ms + 120 * MINUTE_MS,
        "the timer of the earlier limit is replaced"
    );
    let limits = &more.state.view.settings.limits;
    assert_eq!(
        (limits.max_time_ms, limits.max_iterations),
        (Some(120 * MINUTE_MS), Some(80))
    );
    let same = step(more.state, START_MS, &given(None, Some(80), None));
    assert_eq!(same.events, [], "nothing changes");
    let added = step(same.state, START_MS, &given(None, None, Some(5.0)));
    assert_eq!(added.state.view.settings.limits.max_cost_usd, Some(5.0));
}

#[test]
fn a_session_that_was_running_when_the_computer_slept_is_not_too_long() {
    let (moved, now_ms) = moved(running(), 8 * HOUR_MS);
    let timer = armed(&moved, TimerKind::IterationTimeout).unwrap();
    let ended = Input::Agent {
        iteration: 1,
        signal: AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        },
    };
    let ended = step(moved.state, now_ms + MINUTE_MS, &ended);
    assert!(timer.at_ms > now_ms + MINUTE_MS);
    assert!(matches!(
        ended.events[0],
        Event::Iteration(IterationEvent::Ended { duration_ms, .. }) if duration_ms == 2 * MINUTE_MS
    ));
}

#[test]
fn a_backoff_lasts_as_long_as_it_would_have_when_the_clock_is_set_back() {
    for wait in [Wait::Backoff, Wait::Cooldown] {
        let (moved, now_ms) = moved(waiting(wait, START_MS + 2 * MINUTE_MS), -2 * HOUR_MS);
        let timer = armed(&moved, TimerKind::WaitOver).unwrap();
        assert_eq!(timer.at_ms, now_ms + MINUTE_MS);
        let next = step(moved.state, timer.at_ms, &Input::TimerFired { timer }).state;
        assert_eq!(next.view.phase, Phase::Preparing { iteration: 1 });
    }
}

#[test]
fn an_announced_reset_stays_the_date_that_it_is() {
    let until_ms = START_MS + 200 * MINUTE_MS;
    for gap_ms in [HOUR_MS, -HOUR_MS] {
        let mut state = waiting(Wait::LimitReset, until_ms);
        state.view.limited.insert("fake".to_owned(), until_ms);
        let (moved, _) = moved(state, gap_ms);
        assert_eq!(armed(&moved, TimerKind::WaitOver).unwrap().at_ms, until_ms);
        assert_eq!(moved.state.view.limited["fake"], until_ms);
    }
}

#[test]
fn the_calls_of_an_hour_do_not_last_longer_because_the_clock_was_set_back() {
    let state = running();
    assert_eq!(
        call_budget_until(&state, START_MS + MINUTE_MS),
        Some(START_MS + 60 * MINUTE_MS)
    );
    let (moved, now_ms) = moved(state, -2 * HOUR_MS);
    assert_eq!(call_budget_until(&moved.state, now_ms), Some(now_ms + 59 * MINUTE_MS));
}

#[test]
fn whoever_does_not_want_to_wait_for_the_hour_allows_as_many_calls_again() {
    let mut state = waiting(Wait::CallBudget, START_MS + 60 * MINUTE_MS);
    state.view.clock.starts_ms = vec![START_MS];
    assert!(call_budget_until(&state, START_MS + MINUTE_MS).is_some());
    let retry = Input::Command {
        command: UserCommand::RetryNow,
        by: RequestedBy::User,
    };
    let retried = step(state, START_MS + MINUTE_MS, &retry);
    assert!(
        matches!(retried.state.view.phase, Phase::Preparing { .. }),
        "{:?}",
        retried.state.view.phase
    );
    assert_eq!(call_budget_until(&retried.state, START_MS + MINUTE_MS), None);
}

#[test]
fn a_run_that_goes_on_after_the_clock_was_set_back_has_its_limits_in_the_present() {
    let before = waiting(Wait::Backoff, START_MS + MINUTE_MS);
    let recover = Input::Recover {
        pid: 2,
        settings: Box::new((*before.view.settings).clone()),
        pause_file: false,
        day: None,
    };
    let now_ms = START_MS.saturating_add_signed(-2 * HOUR_MS);
    let resumed = step(before, now_ms, &recover);
    assert_eq!(max_time_at(&resumed.state), Some(now_ms + 60 * MINUTE_MS));
    assert_eq!(armed(&resumed, TimerKind::WaitOver).unwrap().at_ms, now_ms + MINUTE_MS);
}
