//! Tests of what follows an iteration: progress, claims, questions, waits and ends.

use crate::{
    event::{
        AgentSignal, Answer, AnswerPlace, AskEvent, Claim, ClaimEvent, ConfirmedBy, Day, DayLimits, Event, GateEvent,
        Goal, GuardedChange, GuardedChangeKind, IterationCommit, IterationEvent, LimitKind, Limits, Missing, Outcome,
        PlanEvent, Problem, ProblemKind, Settings, StopReason, StopRequest, TaskEvent, TestsChange, Usage, UserCommand,
        Wait, WorkerEvent,
    },
    run::{Phase, tests_question},
};

use super::{
    Feedback, FoundTests, Input, Settlement,
    scripted_run_tests::{ScriptedRun, files, is_cancelling, notices},
};

fn network() -> Outcome {
    Outcome::Failed {
        problem: Problem::said(ProblemKind::Network, "no route"),
    }
}

fn goals() -> Vec<Goal> {
    vec![Goal {
        name: "tests".to_owned(),
        command: "true".to_owned(),
        timeout_ms: 1_000,
        ..Goal::default()
    }]
}

fn limited_until(until_ms: u64) -> Problem {
    let until_ms = Some(until_ms);
    Problem::said(ProblemKind::RateLimited { until_ms }, "429")
}

fn claims(events: &[Event]) -> Vec<Claim> {
    let claims = events.iter().filter_map(|event| match event {
        Event::Claim(ClaimEvent::Made { claim, .. }) => Some(*claim),
        _ => None,
    });
    claims.collect()
}

fn refusals(events: &[Event]) -> Vec<Missing> {
    let refusals = events.iter().filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
        _ => None,
    });
    refusals.flatten().collect()
}

fn switches(events: &[Event]) -> Vec<String> {
    let switches = notices(events).into_iter();
    switches
        .filter_map(|text| Some(text.strip_prefix("continuing with ")?.to_owned()))
        .collect()
}

fn is_adapter_limited(event: &Event) -> bool {
    matches!(event, Event::Worker(WorkerEvent::AdapterLimited { .. }))
}

#[test]
fn an_iteration_that_leaves_work_is_followed_by_the_next_one_alone() {
    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    let events = script.iterate();
    assert!(
        matches!(
            events[..],
            [
                Event::Iteration(IterationEvent::Settled { iteration: 1, .. }),
                Event::Iteration(IterationEvent::PreparationStarted { iteration: 2, .. })
            ]
        ),
        "{events:?}"
    );
}

#[test]
fn progress_is_a_tree_that_is_new_in_the_run_or_the_first_commit_of_one_that_is_not() {
    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    script.files = files("a", "0");
    let ralphs = || {
        Some(IterationCommit {
            commit: "4".to_owned(),
            files: 1,
        })
    };
    for (tree, head, committed, progress) in [
        ("b", "0", None, true),
        ("b", "0", None, false),
        ("b", "1", None, true),
        ("b", "2", None, false),
        ("a", "2", None, false),
        ("c", "3", None, true),
        ("c", "4", ralphs(), false),
    ] {
        script.prepare();
        script.complete();
        script.files = files(tree, head);
        let settlement = script.settlement();
        script.settle_as(Settlement {
            committed,
            ..settlement
        });
        let latest = script.state.view.iterations.latest().expect("an iteration");
        assert_eq!(latest.progress, Some(progress), "tree {tree} at {head}");
    }
}

#[test]
fn more_ticks_than_ever_are_progress_and_without_checkpoints_the_files_decide() {
    let mut script = ScriptedRun::start(Settings::default(), &["one", "two", "three"]);
    for (done, moved, progress) in [
        (1, None, Some(true)),
        (1, None, None),
        (1, Some(true), Some(true)),
        (0, Some(false), Some(false)),
        (1, Some(false), Some(false)),
        (2, Some(false), Some(true)),
    ] {
        script.prepare();
        script.complete();
        let tasks = script.plan.tasks.iter_mut().enumerate();
        tasks.for_each(|(index, task)| task.done = index < done);
        let settlement = script.settlement();
        script.settle_as(Settlement { moved, ..settlement });
        let latest = script.state.view.iterations.latest().expect("an iteration");
        assert_eq!(latest.progress, progress, "{done} done, files moved: {moved:?}");
    }
}

#[test]
fn a_plan_that_is_done_is_a_claim_of_a_completed_iteration_alone() {
    for (outcome, claimed) in [(Outcome::Completed, vec![Claim::PlanComplete]), (network(), vec![])] {
        let mut script = ScriptedRun::running(Settings::default(), &["one"]);
        script.end_as(&outcome);
        script.tick("one");
        assert_eq!(claims(&script.settle()), claimed, "{outcome:?}");
    }
}

#[test]
fn tasks_that_the_agent_removed_or_added_are_recorded() {
    for (vanished, added, recorded) in [
        (&[][..], &[][..], false),
        (&["gone"], &[], true),
        (&[], &["new"], true),
        (&["gone"], &["new"], true),
    ] {
        let texts = |tasks: &[&str]| tasks.iter().map(|&task| task.to_owned()).collect::<Vec<_>>();
        let mut script = ScriptedRun::running(Settings::default(), &["one"]);
        script.complete();
        let settlement = script.settlement();
        let events = script.settle_as(Settlement {
            vanished: texts(vanished),
            added: texts(added),
            ..settlement
        });
        let edited = events.contains(&Event::Plan(PlanEvent::Edited {
            iteration: 1,
            vanished: texts(vanished),
            added: texts(added),
        }));
        assert_eq!(edited, recorded, "{vanished:?} {added:?}");
    }
}

#[test]
fn a_plan_that_cannot_be_read_is_told_to_the_next_session_and_refuses_a_claim_if_there_is_one() {
    for (claims, refused) in [(vec![], vec![]), (vec![Claim::Promise], vec![Missing::PlanUnreadable])] {
        let mut script = ScriptedRun::running(Settings::default(), &["one"]);
        script.complete();
        let events = script.settle_as(Settlement {
            claims,
            ..Settlement::from_plan(Err("it is a folder".to_owned()), 0.5)
        });
        assert_eq!(refusals(&events), refused);
        assert_eq!(script.stop_reason(), None);
        let told = script.state.prompt_feedback();
        let why = "it is a folder".to_owned();
        assert!(told.contains(&Feedback::PlanUnreadable { why }), "{told:?}");
        assert_eq!(script.state.view.plan.open(), 1, "the task is still known");
    }
}

/// A question and what else the iteration with it did.
#[derive(Default)]
struct Asks {
    through_its_channel: bool,
    in_its_last_message: bool,
    fails: bool,
    moves_files: bool,
    claims: Vec<Claim>,
}

impl Asks {
    /// Whether the question keeps the task from being worked on.
    fn blocks(self) -> bool {
        let mut script = ScriptedRun::running(Settings::default(), &["one", "two"]);
        let text = "which colour?".to_owned();
        if self.through_its_channel {
            script.signal(AgentSignal::QuestionAsked {
                id: "1".to_owned(),
                text: text.clone(),
            });
        }
        script.end_as(&if self.fails { network() } else { Outcome::Completed });
        let settlement = script.settlement();
        let events = script.settle_as(Settlement {
            question: self.in_its_last_message.then_some(text),
            moved: Some(self.moves_files),
            claims: self.claims,
            ..settlement
        });
        let is_block = |event: &Event| {
            matches!(event, Event::Task(TaskEvent::Blocked { task, question, .. })
                if task.as_deref() == Some("one") && &**question == "which colour?")
        };
        events.iter().any(is_block)
    }
}

#[test]
fn a_question_blocks_its_task_unless_the_agent_got_on_without_an_answer() {
    let channel: fn() -> Asks = || Asks {
        through_its_channel: true,
        ..Asks::default()
    };
    let message: fn() -> Asks = || Asks {
        in_its_last_message: true,
        ..Asks::default()
    };
    assert!(channel().blocks());
    assert!(message().blocks());
    for asks in [channel, message] {
        let moves_files = true;
        assert!(!Asks { moves_files, ..asks() }.blocks(), "it made progress");
        let claims = vec![Claim::Promise];
        assert!(!Asks { claims, ..asks() }.blocks(), "it says that it is done");
    }
    let fails = true;
    assert!(
        !Asks { fails, ..channel() }.blocks(),
        "the session ended before its turn did"
    );
}

#[test]
fn a_run_goes_on_while_a_task_is_open_that_waits_for_no_answer() {
    let mut script = ScriptedRun::start(Settings::default(), &["one", "two", "three", "four", "five"]);
    for task in ["one", "two", "three", "four", "five"] {
        assert_eq!(script.stop_reason(), None, "{task} is left");
        script.prepare();
        script.complete();
        let settlement = script.settlement();
        script.settle_as(Settlement {
            blocked: Some(format!("what about {task}?")),
            ..settlement
        });
    }
    let question = "what about five?".into();
    assert_eq!(script.stop_reason(), Some(&StopReason::Blocked { question }));
}

fn tests_change() -> TestsChange {
    let change = GuardedChange {
        path: "tests/add.rs".into(),
        kind: GuardedChangeKind::Deleted,
        part: None,
    };
    TestsChange::new("the feature is gone", vec![change], "-old".to_owned())
}

/// Settles an iteration that changed tests.
fn settle_with_tests(script: &mut ScriptedRun, allowed: bool) -> Vec<Event> {
    let settlement = script.settlement();
    script.settle_as(Settlement {
        tests: Some(Box::new(FoundTests {
            change: tests_change(),
            allowed,
        })),
        ..settlement
    })
}

fn answer(ask: u32) -> UserCommand {
    UserCommand::Answer {
        ask,
        answer: Answer::Words {
            words: vec!["Yes".to_owned()],
        },
        at: AnswerPlace::CommandLine,
    }
}

#[test]
fn changed_tests_are_confirmed_by_the_plan_or_by_the_user_who_is_asked() {
    let confirmed = |by| {
        Event::Gate(GateEvent::TestsConfirmed {
            iteration: 1,
            changes: tests_change().changes,
            by,
        })
    };
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.complete();
    let events = settle_with_tests(&mut script, true);
    let task = "one".into();
    assert!(events.contains(&confirmed(ConfirmedBy::Plan { task })), "{events:?}");

    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.complete();
    let events = settle_with_tests(&mut script, false);
    let ask = Box::new(tests_question(1, 1, &tests_change()));
    assert!(events.contains(&Event::Ask(AskEvent::Asked { ask })), "{events:?}");
    assert_eq!(script.command(answer(2)), [], "no question has that number");
    let at = AnswerPlace::CommandLine;
    assert_eq!(script.command(answer(1)), [confirmed(ConfirmedBy::User { at, ask: 1 })]);
}

#[test]
fn tests_that_are_confirmed_while_the_goals_run_have_the_goals_run_again() {
    let settings = Settings {
        goals: goals(),
        ..Settings::default()
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    script.complete();
    script.tick("one");
    settle_with_tests(&mut script, false);
    script.command(answer(1));
    let again = Event::Gate(GateEvent::VerificationStarted {
        iteration: 1,
        goals: vec!["tests".to_owned()],
        ticks: false,
    });
    assert_eq!(
        script.verify(true),
        std::slice::from_ref(&again),
        "the results are of other tests"
    );
    assert_eq!(script.recover().last(), Some(&again), "a killed ralph begins them anew");
    script.verify(true);
    assert!(script.is_done(), "{:?}", script.state.view.phase);
}

#[test]
fn a_tick_whose_check_passes_claims_no_plan_that_has_open_tasks() {
    let check = Goal {
        task: Some("one".to_owned()),
        ..goals().remove(0)
    };
    let settings = Settings {
        goals: vec![check],
        ..Settings::default()
    };
    for (tasks, claimed) in [
        (&["one", "two"][..], vec![]),
        (&["one", "+two"], vec![Claim::PlanComplete]),
    ] {
        let mut script = ScriptedRun::running(settings.clone(), tasks);
        script.complete();
        let settlement = script.settlement();
        script.settle_as(Settlement {
            unchecked: vec!["tests".to_owned()],
            ..settlement
        });
        script.tick("one");
        assert_eq!(claims(&script.verify(true)), claimed, "{tasks:?}");
    }
}

#[test]
fn a_failure_counts_as_a_limit_of_its_adapter_if_it_is_one_and_another_adapter_can_take_over() {
    let outage = Problem::said(ProblemKind::Network, "no route");
    let limit = limited_until(2_000_000);
    for (fallback, problem, is_limited, wait) in [
        (vec![], &outage, false, Some(Wait::Backoff)),
        (vec![], &limit, false, Some(Wait::LimitReset)),
        (vec!["other".to_owned()], &outage, false, Some(Wait::Backoff)),
        (vec!["other".to_owned()], &limit, true, None),
    ] {
        let settings = Settings {
            adapter: "own".to_owned(),
            fallback,
            ..Settings::default()
        };
        let mut script = ScriptedRun::running(settings, &["one"]);
        script.fail(problem.clone());
        let events = script.settle();
        assert_eq!(events.iter().any(is_adapter_limited), is_limited, "{events:?}");
        let waits = match script.state.view.phase {
            Phase::Waiting { wait, .. } => Some(wait),
            _ => None,
        };
        assert_eq!(waits, wait, "{events:?}");
    }
}

#[test]
fn a_switch_to_another_adapter_is_told_once() {
    let settings = Settings {
        adapter: "own".to_owned(),
        fallback: vec!["other".to_owned()],
        ..Settings::default()
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    script.fail(limited_until(2_000_000));
    assert_eq!(switches(&script.settle()), ["other"]);
    assert_eq!(switches(&script.iterate()), [""; 0], "it goes on with the same adapter");
    script.now_ms = 2_002_000;
    script.prepare();
    assert_eq!(script.state.view.adapter, "own", "its limit is over");
    script.prepare();
    script.complete();
    assert_eq!(switches(&script.settle()), [""; 0], "a limit of the past is none");
}

#[test]
fn an_adapter_that_a_task_asks_for_is_no_switch_because_of_a_limit() {
    let settings = Settings {
        adapter: "own".to_owned(),
        ..Settings::default()
    };
    let mut script = ScriptedRun::start(settings, &["one", "two"]);
    script.plan.tasks[1].settings.adapter = Some("special".to_owned());
    script.prepare();
    script.complete();
    script.tick("one");
    let events = script.settle();
    assert_eq!(script.state.view.adapter, "special");
    assert!(notices(&events).is_empty());
}

#[test]
fn a_run_waits_for_the_next_day_only_if_its_time_lasts_longer() {
    const DAY: Day = Day {
        from_ms: 0,
        until_ms: 86_400_000,
    };
    let limit = LimitKind::DayCost;
    for (spare_ms, waits) in [(0, false), (1, true), (1_000, true)] {
        let limits = Limits {
            max_time_ms: Some(DAY.until_ms - 1_000_000 + spare_ms),
            per_day: DayLimits {
                max_cost_usd: Some(1.0),
                ..DayLimits::default()
            },
            ..Limits::default()
        };
        let settings = Settings {
            limits,
            ..Settings::default()
        };
        let mut script = ScriptedRun::running(settings, &["one"]);
        script.take(&Input::DayBegan { day: DAY });
        let usage = Usage {
            cost_usd: Some(1.0),
            ..Usage::default()
        };
        script.signal(AgentSignal::Usage { usage });
        assert!(is_cancelling(&script), "{:?}", script.state.view.phase);
        script.end();
        script.settle();
        let until_ms = script.state.view.phase.waits_until_ms();
        assert_eq!(until_ms, waits.then_some(DAY.until_ms), "{spare_ms}");
        let stopped = (!waits).then_some(StopReason::LimitReached { limit });
        assert_eq!(script.stop_reason(), stopped.as_ref(), "{spare_ms}");
    }
}

#[test]
fn a_stop_at_once_ends_the_run_with_its_session_and_a_graceful_one_keeps_the_result() {
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.stop(StopRequest::Immediate);
    assert!(is_cancelling(&script));
    script.end();
    assert_eq!(script.stop_reason(), Some(&StopReason::Requested));

    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.stop(StopRequest::Graceful);
    assert!(is_cancelling(&script));
    script.end();
    assert_eq!(script.stop_reason(), None, "the result is examined");
    script.tick("one");
    script.settle();
    assert_eq!(script.stop_reason(), Some(&StopReason::Requested));
}

#[test]
fn tasks_that_an_agent_removed_are_given_once_to_be_put_back_and_then_block_the_run() {
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    script.complete();
    script.plan.tasks.clear();
    let settlement = Settlement {
        vanished: vec!["one".to_owned()],
        ..script.settlement()
    };
    let events = script.settle_as(settlement);
    assert_eq!(claims(&events), []);
    assert!(!script.state.view.is_over());
    script.prepare();
    let given = script
        .state
        .view
        .iterations
        .latest()
        .and_then(|latest| latest.task.clone());
    assert_eq!(given.as_deref(), Some("one"));
    script.complete();
    script.settle();
    let Some(StopReason::Blocked { question }) = script.state.view.stop_reason() else {
        panic!("{:?}", script.state.view.phase);
    };
    assert!(question.ends_with("does not put them back: one"), "{question}");
}
