//! Tests of what the driver is asked to do: timers, sessions, messages and probes.

use crate::{
    event::{
        AgentSignal, AskId, Decider, Decision, Event, Goal, GoalsWhen, Limits, NewLimits, Offer, PermissionMode,
        PermissionRequest, ProblemKind, Ruling, Settings, SteeringId, SteeringKind, StopRequest, UserCommand, Waiting,
    },
    run::Phase,
};

use super::{
    Effect, Input, Preparation, Settlement, Timer, TimerKind,
    testing::{self, NOW_MS, Run},
};

const IDLE_MS: u64 = 60_000;
const MAX_TIME_MS: u64 = 100_000;
/// When the share of the time is used of which the user is told.
const WARNING_MS: u64 = NOW_MS + 80_000;

fn limits() -> Limits {
    Limits {
        idle_timeout_ms: Some(IDLE_MS),
        max_time_ms: Some(MAX_TIME_MS),
        warn_at: Some(0.8),
        ..Limits::default()
    }
}

fn settings() -> Settings {
    Settings {
        limits: limits(),
        ..Settings::default()
    }
}

fn preparation() -> Preparation {
    testing::preparation(testing::plan(&[("task", false)]))
}

/// A run whose first iteration is running.
fn running() -> Run {
    let mut run = Run::begun(settings());
    run.prepared(preparation());
    run
}

/// The time until the first probe of a session with this limit on silence.
fn first_probed_after_ms(idle_ms: u64) -> Option<u64> {
    let mut run = Run::begun(Settings {
        limits: Limits {
            idle_timeout_ms: Some(idle_ms),
            ..Limits::default()
        },
        ..Settings::default()
    });
    run.prepared(preparation());
    probed_after_ms(&run)
}

/// The time until the next probe that the last input asked for.
fn probed_after_ms(run: &Run) -> Option<u64> {
    run.armed(TimerKind::Idle).map(|timer| timer.at_ms - run.now_ms)
}

/// A timer that has fired in the present phase, or in the one before.
fn fired(run: &Run, kind: TimerKind, is_present: bool) -> Input {
    let epoch = run.state.view.epoch - u32::from(!is_present);
    let timer = Timer {
        kind,
        epoch: Some(epoch),
        at_ms: run.now_ms,
    };
    Input::TimerFired { timer }
}

fn stop(run: &mut Run, stop: StopRequest) {
    run.command(UserCommand::Stop { stop });
}

/// Whether the session is killed, for each request to end it.
fn session_ends(run: &Run) -> Vec<bool> {
    let ends = run.effects.iter().filter_map(|effect| match effect {
        Effect::StopSession { at_once } => Some(*at_once),
        _ => None,
    });
    ends.collect()
}

fn said() -> AgentSignal {
    AgentSignal::Said { text: "hm".to_owned() }
}

#[test]
fn a_run_that_ends_as_it_begins_arms_no_timer() {
    let run = Run::begun(Settings {
        limits: Limits {
            max_iterations: Some(0),
            ..limits()
        },
        ..Settings::default()
    });
    assert_eq!(run.effects, [Effect::Finish]);
}

#[test]
fn the_time_of_the_run_is_watched_anew_after_new_limits_and_in_a_reopened_run() {
    let watched = |run: &Run| run.armed(TimerKind::MaxTime).map(|timer| timer.at_ms);
    let until_ms = Some(NOW_MS + MAX_TIME_MS);
    let mut run = Run::begun(settings());
    assert_eq!(watched(&run), until_ms);
    run.command(UserCommand::Pause);
    assert_eq!(watched(&run), None);
    let limits = NewLimits {
        max_iterations: Some(9),
        ..NewLimits::default()
    };
    run.command(UserCommand::SetLimits { limits });
    assert_eq!(watched(&run), until_ms);
    stop(&mut run, StopRequest::Graceful);
    assert!(run.state.view.is_over());
    run.command(UserCommand::SetLimits { limits });
    assert_eq!(watched(&run), None, "the run is over");
    run.command(UserCommand::Steer {
        kind: SteeringKind::Next,
        text: "go on".to_owned(),
    });
    assert!(!run.state.view.is_over());
    assert_eq!(watched(&run), until_ms);
}

#[test]
fn the_warning_about_the_time_is_armed_only_while_it_is_ahead() {
    for (now_ms, is_ahead) in [(WARNING_MS - 1, true), (WARNING_MS, false), (WARNING_MS + 1, false)] {
        let mut run = Run::begun(settings());
        run.now_ms = now_ms;
        let limits = NewLimits {
            max_iterations: Some(9),
            ..NewLimits::default()
        };
        run.command(UserCommand::SetLimits { limits });
        let armed = run.armed(TimerKind::TimeWarning).map(|timer| timer.at_ms);
        assert_eq!(armed, is_ahead.then_some(WARNING_MS), "{now_ms}");
    }
}

#[test]
fn the_pause_file_is_removed_when_the_user_ends_its_pause() {
    let removed = |run: &Run| run.effects.contains(&Effect::RemovePauseFile);
    let mut run = running();
    run.take(&Input::PauseFile { present: true });
    run.command(UserCommand::Pause);
    assert!(!removed(&run), "the pause goes on");
    run.command(UserCommand::Resume);
    assert!(removed(&run));
    run.command(UserCommand::Pause);
    run.command(UserCommand::Resume);
    assert!(!removed(&run), "there is no file");
    run.take(&Input::PauseFile { present: true });
    run.take(&Input::PauseFile { present: false });
    assert!(!removed(&run), "somebody else removed it");
}

#[test]
fn goals_are_run_for_a_claim_only_if_an_agent_made_one() {
    let with_goal = || {
        let goal = Goal {
            name: "tests".to_owned(),
            ..Goal::default()
        };
        Run::begun(Settings {
            goals: vec![goal],
            goals_when: GoalsWhen::Iteration,
            ..Settings::default()
        })
    };
    let verify = |iteration, is_claim| Effect::Verify { iteration, is_claim };
    for done in [true, false] {
        let mut run = with_goal();
        run.prepared(preparation());
        run.end_session();
        run.settled(Settlement::from_plan(Ok(testing::plan(&[("task", done)])), 0.0));
        assert!(run.effects.contains(&verify(1, done)), "{:?}", run.effects);
    }
    let mut run = with_goal();
    run.prepared(testing::preparation(testing::plan(&[("task", true)])));
    assert!(run.effects.contains(&verify(0, false)), "{:?}", run.effects);
}

#[test]
fn an_urgent_message_goes_to_a_turn_that_accepts_messages() {
    for (kind, live_steering, is_sent) in [
        (SteeringKind::Now, true, true),
        (SteeringKind::Next, true, false),
        (SteeringKind::Standing, true, false),
        (SteeringKind::Now, false, false),
    ] {
        let mut run = Run::begun(settings());
        run.prepared(Preparation {
            live_steering,
            ..preparation()
        });
        let text = "use tabs".to_owned();
        run.command(UserCommand::Steer {
            kind,
            text: text.clone(),
        });
        let (iteration, id) = (1, SteeringId(1));
        let sent = Effect::SteerLive { iteration, id, text };
        assert_eq!(run.effects.contains(&sent), is_sent, "{kind:?} {live_steering}");
    }
}

#[test]
fn a_session_that_is_being_ended_is_killed_once_when_the_stop_becomes_immediate() {
    let mut run = running();
    stop(&mut run, StopRequest::Graceful);
    assert_eq!(session_ends(&run), [false]);
    run.signal(said());
    assert_eq!(session_ends(&run), [false; 0]);
    stop(&mut run, StopRequest::Immediate);
    assert_eq!(session_ends(&run), [true]);
    run.signal(said());
    assert_eq!(session_ends(&run), [false; 0]);
}

#[test]
fn an_iteration_is_settled_once_the_file_that_claims_completion_is_recorded() {
    let mut run = running();
    run.end_session();
    run.command(UserCommand::Pause);
    assert_eq!(run.effects, []);
    run.take(&Input::DoneFileFound { iteration: 1 });
    assert_eq!(run.effects, [Effect::Settle { iteration: 1 }]);
}

#[test]
fn an_agent_is_probed_when_the_timer_of_its_own_session_fires() {
    let mut run = running();
    for (kind, is_present, is_probed) in [
        (TimerKind::Idle, true, true),
        (TimerKind::Idle, false, false),
        (TimerKind::TimeWarning, true, false),
    ] {
        let timer = fired(&run, kind, is_present);
        run.take(&timer);
        let probe = Effect::ProbeActivity { iteration: 1 };
        assert_eq!(run.effects, if is_probed { vec![probe] } else { vec![] }, "{kind:?}");
    }
}

#[test]
fn a_probe_follows_after_an_eighth_of_the_limit_within_bounds() {
    for (idle_ms, pause_ms) in [
        (3_600_000, 30_000),
        (IDLE_MS, IDLE_MS / 8),
        (1_000, 200),
        // Never later than the limit itself.
        (100, 100),
    ] {
        assert_eq!(first_probed_after_ms(idle_ms), Some(pause_ms), "{idle_ms}");
    }
}

#[test]
fn an_agent_whose_time_is_nearly_over_is_probed_when_it_is_over_unless_it_waits_for_an_answer() {
    let probed = |run: &mut Run, quiet_ms| {
        run.take(&Input::ActivityProbed { iteration: 1, quiet_ms });
        probed_after_ms(run)
    };
    let mut run = running();
    assert_eq!(probed(&mut run, 10_000), Some(IDLE_MS / 8));
    assert_eq!(probed(&mut run, 59_000), Some(1_000));
    ask(&mut run, "a");
    assert_eq!(probed(&mut run, 59_000), Some(IDLE_MS / 8));
}

#[test]
fn an_agent_that_begins_to_wait_for_a_limit_is_probed_sooner_if_another_could_work() {
    let mut run = Run::begun(Settings {
        fallback: vec!["other".to_owned()],
        ..settings()
    });
    run.prepared(preparation());
    assert_eq!(probed_after_ms(&run), Some(IDLE_MS / 8));
    run.signal(said());
    assert_eq!(probed_after_ms(&run), None, "nothing has changed");
    run.signal(AgentSignal::Retrying {
        attempt: None,
        of: None,
        why: "status 429".to_owned(),
        kind: Some(ProblemKind::RateLimited { until_ms: None }),
    });
    assert_eq!(probed_after_ms(&run), Some(15_000 / 8));
}

fn ask(run: &mut Run, id: &str) {
    let by = Decider::Mode {
        mode: PermissionMode::Ask,
    };
    run.take(&Input::PermissionRequested {
        iteration: 1,
        request: Box::new(PermissionRequest::for_shell(AskId(id.to_owned()), "git push")),
        ruling: Ruling {
            decision: Decision::Ask,
            by,
            offer: Offer::default(),
        },
    });
}

#[test]
fn the_deadline_of_the_next_question_is_watched_when_the_agent_withdraws_the_first() {
    let patience_ms = Waiting::default().timeout_ms;
    let watched = |run: &Run| run.armed(TimerKind::Permission).map(|timer| timer.at_ms);
    let mut run = running();
    ask(&mut run, "a");
    run.now_ms += 1_000;
    ask(&mut run, "b");
    assert_eq!(watched(&run), Some(NOW_MS + patience_ms));
    run.signal(said());
    assert_eq!(watched(&run), None);
    run.signal(AgentSignal::PermissionWithdrawn {
        id: AskId("a".to_owned()),
    });
    assert_eq!(watched(&run), Some(NOW_MS + 1_000 + patience_ms));
}

#[test]
fn an_agent_that_stays_after_its_turn_is_ended_after_half_a_minute() {
    let is_noticed = |run: &Run| {
        let mut notices = run.events.iter().filter_map(Event::notice);
        notices.any(|notice| notice.code == "agent-lingers")
    };
    let mut run = running();
    let early = fired(&run, TimerKind::Lingering, true);
    run.take(&early);
    assert!(run.events.is_empty() && run.effects.is_empty(), "its turn goes on");
    let [turn_ended, _] = testing::agent_end();
    run.signal(turn_ended);
    let timer = run.armed(TimerKind::Lingering).expect("the timer of the turn's end");
    assert_eq!(timer.at_ms, NOW_MS + 30_000);
    for (kind, is_present) in [(TimerKind::TimeWarning, true), (TimerKind::Lingering, false)] {
        let another = fired(&run, kind, is_present);
        run.take(&another);
        assert_eq!(session_ends(&run), [false; 0], "{kind:?}");
        assert!(!is_noticed(&run), "{kind:?}");
    }
    run.fire(timer);
    assert_eq!(session_ends(&run), [false]);
    assert!(is_noticed(&run));
    assert!(
        matches!(run.state.view.phase, Phase::Running { .. }),
        "its end is still to come"
    );
}
