//! Tests of the user's commands to a run that works, waits, is paused or has ended.

use crate::{
    event::{
        AgentSignal, Answer, AnswerPlace, AskEvent, BreakerCause, BreakerLimits, BreakerState, CancelReason, Choice,
        CommentPlace, Event, Goal, IterationEvent, Limits, NewWorker, PausedBy, Problem, ProblemKind, Question,
        RequestedBy, RuleScope, RunEvent, Settings, SteeringEvent, SteeringId, SteeringKind, StopReason, StopRequest,
        TimeEvent, UserCommand, Wait, WaitCause, WaitEnd, Worker, WorkerEvent,
    },
    run::Phase,
};

use super::{
    Input,
    scripted_run_tests::{ScriptedRun, is_cancelling},
};

fn running() -> ScriptedRun {
    ScriptedRun::running(Settings::default(), &["one", "two"])
}

/// A run that waits after a failure of its agent.
fn waiting() -> ScriptedRun {
    let mut script = running();
    script.fail(Problem::said(ProblemKind::Network, "no route"));
    script.settle();
    assert!(matches!(script.state.view.phase, Phase::Waiting { .. }));
    script
}

fn done() -> ScriptedRun {
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.complete();
    script.tick("one");
    script.settle();
    assert!(script.is_done());
    script
}

fn pause_file(script: &mut ScriptedRun, present: bool) -> Vec<Event> {
    script.take(&Input::PauseFile { present })
}

fn steer(kind: SteeringKind) -> UserCommand {
    let text = "use tabs".to_owned();
    UserCommand::Steer { kind, text }
}

fn cancelled(reason: CancelReason) -> Event {
    Event::Iteration(IterationEvent::CancelRequested { iteration: 1, reason })
}

fn paused(by: PausedBy) -> Event {
    Event::Time(TimeEvent::Paused { by })
}

fn unpaused(by: PausedBy) -> Event {
    Event::Time(TimeEvent::Unpaused { by })
}

fn preparation(iteration: u32) -> Event {
    Event::Iteration(IterationEvent::PreparationStarted {
        iteration,
        adapter: String::new(),
        role: Default::default(),
    })
}

#[test]
fn the_pause_file_holds_the_loop_from_the_next_iteration_on_until_it_is_removed() {
    let mut script = running();
    assert_eq!(pause_file(&mut script, false), [], "there was none before");
    let events = pause_file(&mut script, true);
    let [pause, Event::Noticed { notice }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*pause, paused(PausedBy::File));
    assert_eq!(notice.code, "pause-during-session", "it may be the agent's");
    assert_eq!(pause_file(&mut script, true), []);
    script.complete();
    assert_eq!(script.settle().last(), Some(&Event::Time(TimeEvent::Held)));
    assert_eq!(
        pause_file(&mut script, false),
        [unpaused(PausedBy::File), preparation(2)]
    );
}

#[test]
fn the_end_of_a_pause_starts_nothing_while_an_agent_works_or_another_pause_lasts() {
    let mut script = running();
    pause_file(&mut script, true);
    assert_eq!(pause_file(&mut script, false), [unpaused(PausedBy::File)]);
    pause_file(&mut script, true);
    script.complete();
    script.settle();
    script.state.view.paused_by_user = true;
    assert_eq!(pause_file(&mut script, false), [unpaused(PausedBy::File)]);
    assert_eq!(script.state.view.phase, Phase::Paused);
    assert_eq!(
        script.command(UserCommand::Resume),
        [unpaused(PausedBy::User), preparation(2)]
    );
}

#[test]
fn the_user_resumes_what_the_file_and_the_user_have_paused() {
    let mut script = running();
    assert_eq!(script.command(UserCommand::Pause), [paused(PausedBy::User)]);
    assert_eq!(script.command(UserCommand::Pause), [], "it is paused already");
    pause_file(&mut script, true);
    script.complete();
    script.settle();
    assert_eq!(
        script.command(UserCommand::Resume),
        [unpaused(PausedBy::User), unpaused(PausedBy::File), preparation(2)]
    );
    assert_eq!(script.command(UserCommand::Resume), [], "it is not paused");
}

#[test]
fn a_stop_after_the_iteration_can_be_withdrawn_and_a_sooner_one_cannot() {
    for withdraw in [UserCommand::WithdrawStop, UserCommand::Resume] {
        let mut script = running();
        assert_eq!(script.command(withdraw.clone()), [], "no stop was requested");
        script.stop(StopRequest::AfterIteration);
        assert_eq!(script.command(withdraw.clone()), [Event::Run(RunEvent::StopWithdrawn)]);
        script.complete();
        script.settle();
        assert!(script.prepares(2));

        let mut script = running();
        script.stop(StopRequest::Graceful);
        assert_eq!(script.command(withdraw), []);
    }
    let mut script = running();
    script.stop(StopRequest::AfterIteration);
    script.complete();
    script.settle();
    assert_eq!(script.stop_reason(), Some(&StopReason::Requested));
    assert_eq!(script.command(UserCommand::WithdrawStop), [], "it was followed");
}

/// The phase in which a stop is requested.
type Arrange = fn() -> ScriptedRun;

#[test]
fn how_soon_a_stop_takes_effect_depends_on_what_the_run_does() {
    let preparing: Arrange = || ScriptedRun::start(Settings::default(), &["one"]);
    let settling: Arrange = || {
        let mut script = running();
        script.complete();
        script
    };
    let verifying: Arrange = || {
        let goals = vec![Goal {
            name: "tests".to_owned(),
            ..Default::default()
        }];
        let settings = Settings {
            goals,
            ..Settings::default()
        };
        let mut script = ScriptedRun::running(settings, &["one"]);
        script.complete();
        script.tick("one");
        script.settle();
        assert!(matches!(script.state.view.phase, Phase::Verifying { .. }));
        script
    };
    let at_once = [true, true, true];
    for (name, arrange, stops, cancels) in [
        ("preparing", preparing, at_once, [false; 3]),
        ("waiting", waiting, at_once, [false; 3]),
        ("running", running, [false; 3], [false, true, true]),
        ("settling", settling, [false, false, true], [false; 3]),
        ("verifying", verifying, [false, true, true], [false; 3]),
    ] {
        let requests = [
            StopRequest::AfterIteration,
            StopRequest::Graceful,
            StopRequest::Immediate,
        ];
        for (stop, (stopped, cancelled)) in requests.into_iter().zip(stops.into_iter().zip(cancels)) {
            let mut script = arrange();
            let events = script.stop(stop);
            let requested = Event::Run(RunEvent::StopRequested {
                stop,
                by: RequestedBy::User,
            });
            assert_eq!(events.first(), Some(&requested), "{name} {stop:?}");
            assert_eq!(script.state.view.is_over(), stopped, "{name} {stop:?}");
            assert_eq!(is_cancelling(&script), cancelled, "{name} {stop:?}");
            let cause = WaitEnd::Stopped;
            assert_eq!(
                events.contains(&Event::Time(TimeEvent::WaitEnded { cause })),
                name == "waiting"
            );
        }
    }
}

#[test]
fn a_graceful_stop_that_is_requested_again_is_an_immediate_one_and_a_later_one_changes_nothing() {
    let by = RequestedBy::User;
    let requested = |stop| Event::Run(RunEvent::StopRequested { stop, by });
    for (second, third) in [
        (StopRequest::AfterIteration, None),
        (StopRequest::Graceful, Some(StopRequest::Immediate)),
        (StopRequest::Immediate, Some(StopRequest::Immediate)),
    ] {
        let mut script = running();
        script.stop(StopRequest::Graceful);
        let events = script.stop(second);
        assert_eq!(
            events,
            third.map(requested).into_iter().collect::<Vec<_>>(),
            "{second:?}"
        );
    }
    let mut script = running();
    script.stop(StopRequest::Immediate);
    for stop in [
        StopRequest::AfterIteration,
        StopRequest::Graceful,
        StopRequest::Immediate,
    ] {
        assert_eq!(script.stop(stop), [], "{stop:?}");
    }
    let mut script = running();
    script.stop(StopRequest::AfterIteration);
    assert_eq!(script.stop(StopRequest::AfterIteration), []);
    assert_eq!(
        script.stop(StopRequest::Graceful).first(),
        Some(&requested(StopRequest::Graceful))
    );
}

/// A run that waits for its only try after five failures, with the breaker open.
fn cooling() -> ScriptedRun {
    let breaker = BreakerLimits {
        no_progress: None,
        same_error: Some(1),
        cooldown_ms: 60_000,
    };
    let settings = Settings {
        breaker,
        ..Settings::default()
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    for _ in 0..2 {
        script.fail(Problem::said(ProblemKind::Other, "it crashed"));
        script.settle();
        if script.state.view.breaker.state != BreakerState::Open {
            script.command(UserCommand::RetryNow);
            script.prepare();
        }
    }
    assert_eq!(script.state.view.breaker.state, BreakerState::Open);
    script
}

#[test]
fn the_user_closes_the_breaker_and_so_ends_its_wait() {
    let closed = Event::BreakerMoved {
        to: BreakerState::Closed,
        why: BreakerCause::ResetByUser,
    };
    let retried = Event::Time(TimeEvent::WaitEnded {
        cause: WaitEnd::RetriedNow,
    });
    let mut script = cooling();
    assert_eq!(
        script.command(UserCommand::ResetCircuit),
        [closed.clone(), retried, preparation(3)]
    );
    assert_eq!(script.command(UserCommand::ResetCircuit), [], "it is closed");

    let mut script = cooling();
    script.command(UserCommand::RetryNow);
    assert!(script.prepares(3));
    assert_eq!(script.command(UserCommand::ResetCircuit), [closed], "no wait ends");
}

#[test]
fn an_urgent_message_ends_the_iteration_of_an_agent_that_takes_none() {
    for (kind, live_steering, cancels) in [
        (SteeringKind::Now, false, true),
        (SteeringKind::Now, true, false),
        (SteeringKind::Next, false, false),
        (SteeringKind::Standing, false, false),
    ] {
        let mut script = ScriptedRun::start(Settings::default(), &["one"]);
        script.live_steering = live_steering;
        script.prepare();
        let events = script.command(steer(kind));
        let cancelled = events.contains(&cancelled(CancelReason::Steered));
        assert_eq!(cancelled, cancels, "{kind:?} {live_steering}");
    }
}

#[test]
fn an_agent_answers_for_the_message_that_it_was_given_and_no_other() {
    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    script.live_steering = true;
    script.prepare();
    script.command(steer(SteeringKind::Now));
    let answered = |id| AgentSignal::MessageAnswered {
        id: SteeringId(id),
        taken: false,
        text: None,
    };
    assert_eq!(script.signal(answered(2)), [], "there is no such message");
    assert_eq!(script.signal(answered(1)), [cancelled(CancelReason::Steered)]);
}

#[test]
fn messages_are_numbered_in_the_order_in_which_they_come() {
    let mut script = running();
    let ids: Vec<SteeringId> = (0..3)
        .flat_map(|_| script.command(steer(SteeringKind::Next)))
        .filter_map(|event| match event {
            Event::Steering(SteeringEvent::Queued { id, .. }) => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [1, 2, 3].map(SteeringId));
}

#[test]
fn the_user_gives_the_next_iterations_to_another_worker() {
    let settings = Settings {
        adapter: "own".to_owned(),
        model: Some("small".to_owned()),
        ..Settings::default()
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    let set = |adapter: &str, model: &str| UserCommand::SetWorker {
        worker: NewWorker {
            adapter: Some(adapter.to_owned()),
            model: Some(model.to_owned()),
        },
    };
    assert_eq!(script.command(set("own", "small")), [], "it is this one already");
    let worker = Worker {
        adapter: "own".to_owned(),
        model: Some("large".to_owned()),
    };
    assert_eq!(
        script.command(set("own", "large")),
        [Event::Worker(WorkerEvent::Changed { worker: worker.clone() })]
    );
    script.complete();
    script.settle();
    script.prepare();
    let latest = script.state.view.iterations.latest().expect("an iteration");
    assert_eq!((&latest.adapter, &latest.model), (&worker.adapter, &worker.model));
    for (wait, goes_on) in [(Wait::LimitReset, true), (Wait::CallBudget, false)] {
        let mut script = ScriptedRun::running(Settings::default(), &["one"]);
        script.complete();
        script.settle();
        let waiting = TimeEvent::WaitStarted {
            wait,
            until_ms: u64::MAX,
            attempt: 0,
            why: WaitCause::BegunBefore,
        };
        script.state.apply_event(0, &Event::Time(waiting));
        let events = script.command(set("other", "small"));
        let is_preparing = matches!(script.state.view.phase, Phase::Preparing { .. });
        assert_eq!(is_preparing, goes_on, "{wait:?}: {events:?}");
    }
}

/// The agent asks for a colour with ralph's tool and goes on.
fn ask_by_tool(script: &mut ScriptedRun) {
    let choice = |label: &str| Choice {
        label: label.to_owned(),
        description: String::new(),
    };
    let question = Question {
        text: "Which colour?".to_owned(),
        choices: vec![choice("red"), choice("blue")],
        ..Question::default()
    };
    let question = Box::new(question);
    let iteration = script.iteration();
    script.take(&Input::AgentAsked { iteration, question });
}

fn answer(ask: u32, word: &str) -> UserCommand {
    UserCommand::Answer {
        ask,
        answer: Answer::Words {
            words: vec![word.to_owned()],
        },
        at: AnswerPlace::CommandLine,
    }
}

fn queued(events: &[Event]) -> Option<(SteeringKind, &str)> {
    events.iter().find_map(|event| match event {
        Event::Steering(SteeringEvent::Queued { kind, text, .. }) => Some((*kind, text.as_str())),
        _ => None,
    })
}

#[test]
fn an_answer_reaches_the_agent_that_asked_at_once_if_it_takes_messages_and_any_other_in_a_prompt() {
    let asked = |live_steering| {
        let mut script = ScriptedRun::start(Settings::default(), &["one"]);
        script.live_steering = live_steering;
        script.prepare();
        ask_by_tool(&mut script);
        ask_by_tool(&mut script);
        script
    };
    let mut script = asked(true);
    assert_eq!(
        queued(&script.command(answer(1, "2"))),
        Some((SteeringKind::Now, "blue"))
    );
    script.complete();
    script.settle();
    script.prepare();
    assert_eq!(
        queued(&script.command(answer(2, "1"))),
        Some((SteeringKind::Next, "red")),
        "another agent works by now"
    );
    let mut script = asked(false);
    assert_eq!(
        queued(&script.command(answer(1, "2"))),
        Some((SteeringKind::Next, "blue"))
    );
    script.live_steering = true;
    script.complete();
    script.settle();
    script.prepare();
    ask_by_tool(&mut script);
    assert_eq!(
        queued(&script.command(answer(2, "1"))),
        Some((SteeringKind::Next, "red")),
        "the present agent has asked something else"
    );
}

#[test]
fn an_ended_run_is_reopened_by_a_message_or_an_answer_and_by_nothing_else() {
    let reopened = Event::Run(RunEvent::Reopened {
        by: RequestedBy::User,
        continued: false,
    });
    let mut script = done();
    for command in [
        UserCommand::Resume,
        UserCommand::Skip,
        UserCommand::RetryNow,
        answer(1, "2"),
    ] {
        assert_eq!(script.command(command.clone()), [], "{command:?}");
    }
    let events = script.command(steer(SteeringKind::Next));
    assert_eq!(
        (events.first(), events.last()),
        (Some(&reopened), Some(&preparation(2)))
    );

    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    ask_by_tool(&mut script);
    script.stop(StopRequest::Graceful);
    script.end();
    script.settle();
    assert_eq!(script.stop_reason(), Some(&StopReason::Requested));
    let events = script.command(answer(1, "2"));
    assert_eq!(events.first(), Some(&reopened));
    assert_eq!(queued(&events), Some((SteeringKind::Next, "blue")));
    assert!(script.prepares(2));
}

fn write_comment() -> UserCommand {
    let place = CommentPlace {
        file: "src/a.rs".into(),
        line: 3,
        quote: vec!["let x = 1;".into()].into(),
        ..CommentPlace::default()
    };
    UserCommand::WriteComment {
        place: Box::new(place),
        text: "shorter".to_owned(),
    }
}

#[test]
fn drafts_reopen_an_ended_run_when_they_are_sent_unless_it_is_closed_for_good() {
    let send = UserCommand::SendComments {
        kind: SteeringKind::Next,
    };
    let mut script = done();
    assert_eq!(script.command(send.clone()), [], "there are no drafts");
    script.command(write_comment());
    assert!(script.state.view.is_over(), "a draft needs no iteration");
    script.command(send.clone());
    assert!(script.prepares(2));

    let limits = Limits {
        max_iterations: Some(1),
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    script.complete();
    script.settle();
    script.command(write_comment());
    assert_eq!(script.command(send), [], "its iterations are used up");
    assert!(script.state.view.is_over());
}

#[test]
fn a_run_that_another_replaced_is_closed_for_good() {
    let mut script = running();
    assert_eq!(script.state.closed_for_good(), None);
    let superseded = Event::Run(RunEvent::Stopped {
        reason: StopReason::Superseded,
        hints: Vec::new().into(),
        totals: script.state.view.totals(),
    });
    script.state.apply_event(script.now_ms, &superseded);
    assert_eq!(script.state.closed_for_good(), Some(super::ClosedReason::Superseded));
    assert_eq!(script.command(steer(SteeringKind::Next)), []);
    assert_eq!(done().state.closed_for_good(), None);
}

#[test]
fn a_rule_is_forgotten_while_the_run_works_and_after_its_end() {
    let forget = UserCommand::Forget {
        rule: "Bash(git push *)".to_owned(),
    };
    for mut script in [running(), done()] {
        assert_eq!(script.command(forget.clone()), [], "there is no such rule");
        let added = Event::Ask(AskEvent::RulesAdded {
            iteration: 1,
            ask: 1,
            scope: RuleScope::Run,
            rules: vec!["Bash(git push *)".to_owned()],
            over: Vec::new(),
        });
        script.state.apply_event(script.now_ms, &added);
        let rule = "Bash(git push *)".to_owned();
        assert_eq!(
            script.command(forget.clone()),
            [Event::Ask(AskEvent::RuleForgotten { rule })]
        );
    }
}
