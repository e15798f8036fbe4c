//! Tests of single inputs: preparations, timers, boxes, hooks, warnings, and windows.

use crate::{
    event::{
        AgentSignal, BackgroundEnd, BackgroundResult, Day, DayLimits, Escalation, Event, Exit, GateEvent, GateSettings,
        Goal, Headroom, Hook, HookEvent, Hooks, IterationEvent, LimitKind, Limits, NewLimits, PlanChange, PlanEvent,
        Problem, ProblemKind, RequestedBy, ReviewSettings, ReviewWhen, RunEvent, Settings, SteeringKind, StopRequest,
        Usage, UsageWindow, UserCommand, Wait, WindowKind, WindowSample, Worker,
    },
    run::Phase,
};

use super::{
    Input, Preparation, Timer, TimerKind,
    scripted_run_tests::{ScriptedRun, is_cancelling, notices},
};

const DAY: Day = Day {
    from_ms: 0,
    until_ms: 86_400_000,
};

fn own() -> Settings {
    Settings {
        adapter: "own".to_owned(),
        ..Settings::default()
    }
}

fn steer(script: &mut ScriptedRun, kind: SteeringKind) {
    let text = "use tabs".to_owned();
    script.command(UserCommand::Steer { kind, text });
}

#[test]
fn a_timer_counts_in_its_own_phase_and_not_before_its_time() {
    let limits = Limits {
        iteration_timeout_ms: Some(1_000),
        ..Limits::default()
    };
    for (early_ms, phases_ago, counts) in [(1, 0, false), (0, 0, true), (-1, 0, true), (0, 1, false), (1, 1, false)] {
        let settings = Settings {
            limits: limits.clone(),
            ..own()
        };
        let mut script = ScriptedRun::running(settings, &["one"]);
        let timer = Timer {
            kind: TimerKind::IterationTimeout,
            epoch: Some(script.state.view.epoch - phases_ago),
            at_ms: script.now_ms.saturating_add_signed(early_ms),
        };
        script.take(&Input::TimerFired { timer });
        assert_eq!(is_cancelling(&script), counts, "{early_ms} {phases_ago}");
    }
}

#[test]
fn boxes_that_change_while_the_author_works_are_recorded() {
    let toggled = |script: &mut ScriptedRun, iteration, toggled: &[u32]| {
        let toggled = toggled.to_vec();
        script.take(&Input::BoxesToggled { iteration, toggled })
    };
    let mut script = ScriptedRun::running(own(), &["one", "two"]);
    assert_eq!(toggled(&mut script, 1, &[]), []);
    assert_eq!(toggled(&mut script, 2, &[0]), [], "that iteration does not run");
    let change = PlanChange {
        toggled: vec![1],
        ..PlanChange::default()
    };
    assert_eq!(
        toggled(&mut script, 1, &[1]),
        [Event::Plan(PlanEvent::Changed { change })]
    );
    script.complete();
    assert_eq!(toggled(&mut script, 1, &[0]), [], "the agent is done");

    let by = Worker {
        adapter: "critic".to_owned(),
        model: None,
    };
    let review = Some(ReviewSettings {
        by,
        when: ReviewWhen::Task,
        rounds: 1,
    });
    let mut script = ScriptedRun::running(Settings { review, ..own() }, &["one", "two"]);
    script.complete();
    script.tick("one");
    script.settle();
    script.prepare();
    assert!(!script.state.view.role.is_work());
    assert_eq!(toggled(&mut script, 2, &[1]), [], "those of a reviewer are reverted");
}

fn baseline() -> Settings {
    let goal = Goal {
        name: "tests".to_owned(),
        command: "true".to_owned(),
        timeout_ms: 1_000,
        ..Goal::default()
    };
    Settings {
        goals: vec![goal],
        gate: GateSettings {
            baseline: true,
            ..GateSettings::default()
        },
        ..own()
    }
}

#[test]
fn the_goals_are_run_once_before_the_first_iteration_and_before_no_other() {
    let verified = |events: &[Event]| {
        let is_it = |event: &Event| matches!(event, Event::Gate(GateEvent::VerificationStarted { iteration: 0, .. }));
        events.iter().any(is_it)
    };
    let mut script = ScriptedRun::start(baseline(), &["one"]);
    assert!(verified(&script.prepare()));
    let events = script.verify(false);
    assert!(
        matches!(
            events[..],
            [
                Event::Gate(GateEvent::GoalChecked { .. }),
                Event::Iteration(IterationEvent::PreparationStarted { iteration: 1, .. })
            ]
        ),
        "{events:?}"
    );
    assert!(!verified(&script.prepare()));

    let mut script = ScriptedRun::running(own(), &["one"]);
    script.complete();
    script.settle();
    script.recover_with(baseline());
    assert!(!verified(&script.prepare()), "the goals were added later");
    assert!(matches!(script.state.view.phase, Phase::Running { iteration: 2, .. }));
}

#[test]
fn a_prompt_is_written_again_for_a_message_that_cannot_wait() {
    for (tasks, kind, is_in_prompt, again) in [
        (&["one"][..], SteeringKind::Next, false, false),
        (&["one"], SteeringKind::Standing, false, false),
        (&["one"], SteeringKind::Now, false, true),
        (&["one"], SteeringKind::Now, true, false),
        (&["+one"], SteeringKind::Next, false, true),
        (&["+one"], SteeringKind::Next, true, false),
    ] {
        let mut script = ScriptedRun::start(own(), tasks);
        steer(&mut script, kind);
        let preparation = script.preparation();
        let delivered = match is_in_prompt {
            true => preparation.delivered.clone(),
            false => Vec::new(),
        };
        let events = script.prepare_as(Preparation {
            delivered,
            ..preparation
        });
        let is_again = matches!(
            events.last(),
            Some(Event::Iteration(IterationEvent::PreparationStarted { .. }))
        );
        assert_eq!(is_again, again, "{tasks:?} {kind:?} {is_in_prompt}");
        let begins = matches!(events.last(), Some(Event::Iteration(IterationEvent::Started { .. })));
        assert_eq!(begins, !again, "{tasks:?} {kind:?} {is_in_prompt}");
    }
}

#[test]
fn that_a_task_asks_for_another_agent_is_told_once_for_each_task() {
    let mut script = ScriptedRun::start(own(), &["one", "two", "three"]);
    script.plan.tasks[0].settings.adapter = Some("special".to_owned());
    script.plan.tasks[1].settings.adapter = Some("special".to_owned());
    script.prepare();
    assert!(
        matches!(script.state.view.phase, Phase::Preparing { .. }),
        "another agent is prepared"
    );
    assert_eq!(notices(&script.prepare()), ["the task asks for special"]);
    script.complete();
    script.settle();
    assert!(notices(&script.prepare()).is_empty(), "it is the same task");
    script.complete();
    script.tick("one");
    script.settle();
    assert_eq!(notices(&script.prepare()), ["the task asks for special"]);
    script.complete();
    script.tick("two");
    script.settle();
    assert!(notices(&script.prepare()).is_empty(), "the task asks for none");
}

#[test]
fn an_agent_that_stands_in_for_the_one_that_a_task_asks_for_is_not_told_as_asked_for() {
    let settings = Settings {
        fallback: vec!["other".to_owned()],
        ..own()
    };
    let mut script = ScriptedRun::start(settings, &["one"]);
    script.plan.tasks[0].settings.adapter = Some("special".to_owned());
    let until_ms = script.now_ms + 60_000;
    script.state.view.limited.insert("special".to_owned(), until_ms);
    let events = script.prepare();
    assert!(matches!(script.state.view.phase, Phase::Running { .. }), "{events:?}");
    assert_eq!(script.state.view.adapter, "own");
    assert!(notices(&events).is_empty());
}

#[test]
fn a_task_is_handed_on_after_iterations_without_progress_and_that_is_told_once() {
    let stronger = Worker {
        adapter: "own".to_owned(),
        model: Some("large".to_owned()),
    };
    let escalation = Escalation {
        steps: vec![stronger],
        after: 1,
    };
    let settings = Settings { escalation, ..own() };
    let handed_on = "1 iteration made no progress on this task: handing it to own/large";
    let mut script = ScriptedRun::running(settings, &["one"]);
    let stuck = |script: &mut ScriptedRun| {
        script.complete();
        let settlement = script.settlement();
        script.settle_as(super::Settlement {
            moved: Some(false),
            ..settlement
        });
    };
    stuck(&mut script);
    assert_eq!(notices(&script.prepare()), [handed_on]);
    stuck(&mut script);
    assert!(notices(&script.prepare()).is_empty(), "the last worker keeps the task");
}

#[test]
fn a_hook_that_ends_after_the_run_is_recorded() {
    let hooks = Hooks {
        on_end: Some("true".to_owned()),
        ..Hooks::default()
    };
    let mut script = ScriptedRun::start(Settings { hooks, ..own() }, &["one"]);
    let events = script.stop(StopRequest::Graceful);
    let hook = Hook::OnEnd;
    let is_start = |event: &Event| matches!(event, Event::Hook(HookEvent::Started { number: 1, hook: found, .. }) if *found == hook);
    assert!(events.iter().any(is_start), "{events:?}");
    let exit = Exit::Code { code: 0 };
    let result = BackgroundResult {
        end: BackgroundEnd::Exited { exit },
        duration_ms: 1,
        output_bytes: 1,
        tail: "ok".into(),
    };
    let (number, result) = (1, Box::new(result));
    let ended = script.take(&Input::HookEnded { number, result });
    assert!(
        matches!(ended[..], [Event::Hook(HookEvent::Ended { number: 1, .. })]),
        "{ended:?}"
    );
}

fn near(events: &[Event]) -> Vec<LimitKind> {
    let near = events.iter().filter_map(|event| match event {
        Event::Run(RunEvent::LimitNeared { limit, .. }) => Some(*limit),
        _ => None,
    });
    near.collect()
}

fn spend(script: &mut ScriptedRun, cost_usd: f64, output_tokens: u64) -> Vec<Event> {
    let usage = Usage {
        cost_usd: Some(cost_usd),
        output_tokens: Some(output_tokens),
        ..Usage::default()
    };
    script.signal(AgentSignal::Usage { usage })
}

fn warned(limits: Limits) -> Settings {
    let limits = Limits {
        warn_at: Some(0.8),
        ..limits
    };
    Settings { limits, ..own() }
}

#[test]
fn a_limit_that_the_user_raises_is_warned_of_again_and_the_others_are_not() {
    let all = [
        LimitKind::MaxIterations,
        LimitKind::MaxTime,
        LimitKind::MaxCost,
        LimitKind::MaxTokens,
    ];
    let none = NewLimits::default();
    for (limit, limits) in [
        (
            LimitKind::MaxIterations,
            NewLimits {
                max_iterations: Some(10),
                ..none
            },
        ),
        (
            LimitKind::MaxTime,
            NewLimits {
                max_time_ms: Some(100_001),
                ..none
            },
        ),
        (
            LimitKind::MaxCost,
            NewLimits {
                max_cost_usd: Some(10.1),
                ..none
            },
        ),
        (
            LimitKind::MaxTokens,
            NewLimits {
                max_tokens: Some(1_001),
                ..none
            },
        ),
    ] {
        let settings = warned(Limits {
            max_iterations: Some(9),
            max_time_ms: Some(100_000),
            max_cost_usd: Some(10.0),
            max_tokens: Some(1_000),
            ..Limits::default()
        });
        let mut script = ScriptedRun::start(settings, &["one"]);
        for _ in 0..7 {
            script.iterate();
        }
        script.prepare();
        script.now_ms += 90_000;
        let told = near(&spend(&mut script, 9.0, 900));
        assert_eq!(
            [LimitKind::MaxIterations].iter().chain(&told).collect::<Vec<_>>(),
            all.iter().collect::<Vec<_>>()
        );
        assert_eq!(near(&script.command(UserCommand::SetLimits { limits })), [limit]);
    }
}

#[test]
fn a_resumed_run_warns_of_its_limits_again() {
    let settings = warned(Limits {
        max_cost_usd: Some(10.0),
        ..Limits::default()
    });
    let mut script = ScriptedRun::running(settings, &["one"]);
    assert_eq!(near(&spend(&mut script, 9.0, 1)), [LimitKind::MaxCost]);
    assert_eq!(near(&spend(&mut script, 0.1, 1)), []);
    assert_eq!(near(&script.recover()), [LimitKind::MaxCost]);
}

fn of_day() -> Settings {
    warned(Limits {
        per_day: DayLimits {
            max_cost_usd: Some(10.0),
            ..DayLimits::default()
        },
        ..Limits::default()
    })
}

#[test]
fn a_limit_of_the_day_that_the_user_allows_once_more_is_warned_of_again() {
    let mut script = ScriptedRun::running(of_day(), &["one"]);
    script.take(&Input::DayBegan { day: DAY });
    assert_eq!(near(&spend(&mut script, 9.0, 1)), [LimitKind::DayCost]);
    spend(&mut script, 1.0, 1);
    script.end();
    script.settle();
    assert_eq!(script.state.view.phase.waits_until_ms(), Some(DAY.until_ms));
    script.command(UserCommand::RetryNow);
    script.prepare();
    assert_eq!(near(&spend(&mut script, 7.0, 1)), [LimitKind::DayCost]);
    // A wait for something else allows nothing more.
    let mut script = ScriptedRun::running(of_day(), &["one"]);
    script.take(&Input::DayBegan { day: DAY });
    assert_eq!(near(&spend(&mut script, 9.0, 1)), [LimitKind::DayCost]);
    script.fail(Problem::said(ProblemKind::Network, "no route"));
    script.settle();
    assert_eq!(near(&script.command(UserCommand::RetryNow)), []);
}

#[test]
fn nobody_is_warned_of_a_limit_of_a_day_that_is_over_or_of_a_run_that_is() {
    let mut script = ScriptedRun::running(of_day(), &["one"]);
    script.take(&Input::DayBegan { day: DAY });
    script.now_ms = DAY.until_ms;
    assert_eq!(
        near(&spend(&mut script, 9.0, 1)),
        [],
        "the next day has not been announced"
    );

    let settings = warned(Limits {
        max_time_ms: Some(100_000),
        ..Limits::default()
    });
    let mut script = ScriptedRun::start(settings, &["one"]);
    script.now_ms += 90_000;
    let events = script.stop(StopRequest::Graceful);
    assert!(script.state.view.is_over());
    assert_eq!(near(&events), []);
}

#[test]
fn the_user_lets_runs_use_a_window_until_it_is_reset() {
    let headroom = Headroom {
        five_hour: 20,
        ..Headroom::default()
    };
    let mut script = ScriptedRun::start(Settings { headroom, ..own() }, &["one"]);
    let (hour_ms, now_ms) = (3_600_000, script.now_ms);
    let window = UsageWindow {
        kind: WindowKind::FiveHour,
        used_percent: 90,
        resets_ms: now_ms + hour_ms,
        length_ms: 5 * hour_ms,
    };
    let prepare = |script: &mut ScriptedRun| {
        let at_ms = script.now_ms;
        let windows = vec![WindowSample { at_ms, window }];
        let preparation = script.preparation();
        script.prepare_as(Preparation { windows, ..preparation });
    };
    prepare(&mut script);
    let waits = |script: &ScriptedRun| {
        let phase = &script.state.view.phase;
        matches!(
            phase,
            Phase::Waiting {
                wait: Wait::Headroom,
                ..
            }
        )
    };
    assert!(waits(&script), "{:?}", script.state.view.phase);
    let by = RequestedBy::User;
    let command = UserCommand::RetryNow;
    script.take(&Input::Command { command, by });
    prepare(&mut script);
    assert!(!waits(&script), "the user wants to use it");
    script.complete();
    script.settle();
    prepare(&mut script);
    assert!(matches!(script.state.view.phase, Phase::Running { iteration: 2, .. }));
}

#[test]
fn a_wait_for_something_else_that_the_user_ends_frees_no_window() {
    let mut script = ScriptedRun::running(own(), &["one"]);
    script.fail(Problem::said(ProblemKind::Network, "no route"));
    script.settle();
    script.command(UserCommand::RetryNow);
    assert_eq!(script.state.internal.windows.waived_until_ms, None);
}
