//! Tests of the view of a run: what is current, what is set aside, and what an end or an answer resets.

use std::collections::BTreeMap;

use super::*;
use crate::run::standing_refusal;
use crate::{
    event::{
        AgentEvent, AgentSignal, AnswerPlace, AnsweredAsk, AskEvent, BreakerCause, Changes, ClaimEvent, ConfirmedBy,
        Elsewhere, Event, GateEvent, Goal, GoalResult, GuardedChange, GuardedChangeKind, Hint, IterationEvent,
        KnownFailures, LimitKind, Missing, PlanChange, PlanEvent, PlanSnapshot, PlanTask, Proof, RequestedBy,
        ReviewSettings, ReviewWhen, Role, RunEvent, Settings, SteeringEvent, SteeringId, SteeringKind, StopReason,
        TaskEvent, TestCounts, TestsChange, Text, TimeEvent, Totals, Wait, WaitCause, WaitEnd, Worker,
    },
    limits::run_limit_reached,
    testing::{goal_checked, iteration_ended, iteration_started, question_asked},
};

fn view_after(events: impl IntoIterator<Item = Event>) -> RunView {
    let mut view = RunView::default();
    follow(&mut view, events);
    view
}

fn follow(view: &mut RunView, events: impl IntoIterator<Item = Event>) {
    for event in events {
        view.apply_event(view.records + 1, &event);
    }
}

fn run_started(settings: Settings) -> Event {
    Event::Run(RunEvent::Started {
        project: "/project".into(),
        pid: 1,
        settings: Box::new(settings),
        promise: String::new(),
        number: 1,
        earlier_starts_ms: Vec::new(),
        earlier_spending: Vec::new(),
    })
}

/// A plan with a task per line: `[x]` or `[ ]`, indented by its depth, and its text.
fn plan(lines: &[&str]) -> PlanSnapshot {
    let task = |(line, text): (u32, &&str)| {
        let depth = text.len() - text.trim_start().len();
        let (check_box, text) = text.trim_start().split_at(3);
        PlanTask {
            text: text.trim().to_owned(),
            done: check_box == "[x]",
            line,
            depth: u8::try_from(depth).unwrap(),
            heading: None,
            settings: Default::default(),
            ..PlanTask::default()
        }
    };
    PlanSnapshot {
        tasks: (1..).zip(lines).map(task).collect(),
    }
}

fn plan_read(lines: &[&str]) -> Event {
    Event::Plan(PlanEvent::Read { plan: plan(lines) })
}

fn settled(iteration: u32, progress: bool) -> Event {
    Event::Iteration(IterationEvent::Settled {
        iteration,
        checkpoint: None,
        changes: None,
        totals: None,
        progress: Some(progress),
        undone: false,
        committed: None,
        elsewhere: Elsewhere::default(),
    })
}

fn blocked(task: &str) -> Event {
    Event::Task(TaskEvent::Blocked {
        iteration: 1,
        task: Some(task.to_owned()),
        question: "Which key?".into(),
    })
}

fn stopped(reason: StopReason, hints: Vec<Hint>) -> Event {
    Event::Run(RunEvent::Stopped {
        reason,
        hints: hints.into(),
        totals: Totals::default(),
    })
}

/// A message that answers question `ask`.
fn answered(ask: u32) -> Event {
    Event::Steering(SteeringEvent::Queued {
        id: SteeringId(1),
        kind: SteeringKind::Next,
        text: "the blue one".to_owned(),
        answers: Some(Box::new(AnsweredAsk {
            ask,
            question: "Which key?".to_owned(),
            at: AnswerPlace::Page,
        })),
    })
}

/// Settings under which a task is set aside after one iteration.
fn one_iteration_per_task() -> Settings {
    let mut settings = Settings::default();
    settings.limits.per_task.max_iterations = Some(1);
    settings
}

fn task_text(view: &RunView) -> Option<&str> {
    view.task().map(|task| task.text.as_str())
}

#[test]
fn only_tests_that_failed_before_the_first_iteration_are_forgiven_and_only_if_the_settings_say_so() {
    let failing = |iteration, name: &str, tests: &[&str], doubt: Option<&str>| {
        let Event::Gate(GateEvent::GoalChecked { result, .. }) = goal_checked(iteration, name, 1, "") else {
            unreachable!("a goal was checked")
        };
        let failed_tests: Vec<_> = tests.iter().map(|name| (*name).into()).collect();
        let result = GoalResult {
            failed_tests: failed_tests.into(),
            doubt: doubt.map(Into::into),
            ..result
        };
        Event::Gate(GateEvent::GoalChecked { iteration, result })
    };
    let known = |known_failures| {
        let mut settings = Settings::default();
        settings.gate.known_failures = known_failures;
        let view = view_after([
            run_started(settings),
            failing(0, "unit", &["one", "two"], None),
            failing(0, "doubtful", &["one"], Some("the counts contradict each other")),
            failing(0, "lint", &[], None),
            iteration_started(1, None, None),
            failing(1, "unit", &["three"], None),
        ]);
        view.known_failures()
    };
    let names = vec!["one".to_owned(), "two".to_owned()];
    assert_eq!(
        known(KnownFailures::Forgive),
        BTreeMap::from([("unit".to_owned(), names)])
    );
    assert_eq!(known(KnownFailures::Block), BTreeMap::new());
}

#[test]
fn a_removed_task_that_is_added_again_is_no_longer_missing() {
    let changed = |before: &[&str], after: &[&str]| {
        Event::Plan(PlanEvent::Changed {
            change: PlanChange::between(&plan(before), &plan(after)),
        })
    };
    let vanished = Event::Plan(PlanEvent::Edited {
        iteration: 1,
        vanished: vec!["b".to_owned()],
        added: Vec::new(),
    });
    let mut view = view_after([
        plan_read(&["[ ] a", "[ ] b"]),
        changed(&["[ ] a", "[ ] b"], &["[ ] a"]),
        vanished,
        changed(&["[ ] a"], &["[x] a"]),
    ]);
    assert_eq!(view.missing, ["b"]);
    follow(&mut view, [changed(&["[x] a"], &["[x] a", "[ ] b"])]);
    assert!(view.missing.is_empty());
}

#[test]
fn only_a_user_who_ends_the_wait_for_calls_allows_as_many_again() {
    let calls_after = |wait, cause| {
        let waits = Event::Time(TimeEvent::WaitStarted {
            wait,
            until_ms: 10,
            attempt: 0,
            why: WaitCause::CallsUsedUp,
        });
        let ends = Event::Time(TimeEvent::WaitEnded { cause });
        let view = view_after([iteration_started(1, None, None), iteration_ended(1), waits, ends]);
        view.clock.calls_within_hour(10)
    };
    assert_eq!(calls_after(Wait::CallBudget, WaitEnd::RetriedNow), 0);
    assert_eq!(calls_after(Wait::CallBudget, WaitEnd::Elapsed), 1);
    assert_eq!(calls_after(Wait::Backoff, WaitEnd::RetriedNow), 1);
}

#[test]
fn a_message_resets_the_breaker_and_a_plain_continuation_only_what_ended_the_run() {
    let open = StopReason::BreakerOpen {
        why: BreakerCause::NoProgress { iterations: 1 },
    };
    let question = StopReason::Blocked {
        question: "Which key?".into(),
    };
    let work = [
        iteration_started(1, Some("a"), None),
        iteration_ended(1),
        settled(1, false),
        blocked("a"),
    ];
    for (reason, continued, without_progress, blocks) in [
        (open.clone(), true, 0, 1),
        (open, false, 0, 1),
        (question.clone(), true, 1, 0),
        (question, false, 0, 1),
        (StopReason::Requested, true, 1, 1),
    ] {
        let mut view = view_after(work.clone());
        let by = RequestedBy::User;
        let reopened = Event::Run(RunEvent::Reopened { by, continued });
        follow(&mut view, [stopped(reason.clone(), Vec::new()), reopened]);
        assert_eq!(view.phase, Phase::Idle);
        let found = (view.breaker.no_progress, view.blocks.len());
        assert_eq!(found, (without_progress, blocks), "{reason:?}, continued: {continued}");
    }
}

#[test]
fn another_requested_model_is_shown_until_the_agent_names_its_own() {
    let started = |iteration, requested: Option<&str>| {
        let mut event = iteration_started(iteration, None, None);
        let Event::Iteration(IterationEvent::Started { model, .. }) = &mut event else {
            unreachable!("it starts")
        };
        *model = requested.map(str::to_owned);
        event
    };
    let named = |iteration, model: &str| {
        Event::Agent(AgentEvent::Reported {
            iteration,
            signal: AgentSignal::Opened {
                session: None,
                model: Some(model.to_owned()),
            },
        })
    };
    let mut view = RunView::default();
    for (event, shown) in [
        (started(1, None), None),
        (named(1, "sonnet-4"), Some("sonnet-4")),
        (started(2, None), Some("sonnet-4")),
        (started(3, Some("haiku")), Some("haiku")),
        (named(3, "haiku-4.5"), Some("haiku-4.5")),
        (started(4, Some("haiku")), Some("haiku-4.5")),
    ] {
        follow(&mut view, [event.clone()]);
        assert_eq!(view.model.as_deref(), shown, "{event:?}");
    }
}

fn tests_confirmed() -> Event {
    Event::Gate(GateEvent::TestsConfirmed {
        iteration: 1,
        changes: Vec::new().into(),
        by: ConfirmedBy::User {
            at: AnswerPlace::Page,
            ask: 1,
        },
    })
}

#[test]
fn confirmed_tests_make_an_unconfirmed_end_a_tested_one() {
    let hints = || vec![Hint::ConfirmTests, Hint::CountTests];
    for (proof, expected, left) in [
        (Proof::Unconfirmed, Proof::Tests, vec![Hint::CountTests]),
        (Proof::ExitCodes, Proof::ExitCodes, hints()),
    ] {
        let view = view_after([stopped(StopReason::done(proof), hints()), tests_confirmed()]);
        assert_eq!(view.stop_reason(), Some(&StopReason::done(expected)));
        assert_eq!(view.end().map(|end| end.hints.clone()), Some(left));
    }
}

#[test]
fn the_first_counts_after_confirmed_tests_are_the_new_baseline() {
    let counted = |passed| {
        let Event::Gate(GateEvent::GoalChecked { iteration, mut result }) = goal_checked(1, "tests", 0, "") else {
            unreachable!("a goal was checked")
        };
        result.tests = Some(TestCounts {
            passed,
            ..TestCounts::default()
        });
        Event::Gate(GateEvent::GoalChecked { iteration, result })
    };
    let goal = Goal {
        name: "tests".to_owned(),
        ..Goal::default()
    };
    let settings = Settings {
        goals: vec![goal],
        ..Settings::default()
    };
    let mut view = view_after([run_started(settings), counted(9), counted(8)]);
    let baseline = |view: &RunView| view.goals[0].baseline.as_ref().map(|counts| counts.passed);
    assert_eq!(baseline(&view), Some(9));
    follow(&mut view, [tests_confirmed()]);
    assert_eq!(baseline(&view), None);
    follow(&mut view, [counted(7), counted(6)]);
    assert_eq!(baseline(&view), Some(7));
}

#[test]
fn the_author_is_whoever_works_or_worked_last_and_never_the_reviewer() {
    let prepared = |iteration, adapter: &str, role| {
        Event::Iteration(IterationEvent::PreparationStarted {
            iteration,
            adapter: adapter.to_owned(),
            role,
        })
    };
    let settings = Settings {
        adapter: "gemini".to_owned(),
        ..Settings::default()
    };
    let mut view = view_after([run_started(settings)]);
    assert_eq!(view.author(), "gemini", "it comes first");
    follow(&mut view, [iteration_started(1, None, None), iteration_ended(1)]);
    assert_eq!(view.author(), "codex");
    follow(&mut view, [prepared(2, "claude", Role::Review { round: 1 })]);
    assert_eq!((view.author(), view.current_adapter()), ("codex", "claude"));
    follow(&mut view, [prepared(2, "kimi", Role::Work)]);
    assert_eq!(view.author(), "kimi");
}

#[test]
fn an_answer_closes_every_question_about_its_task_and_no_other() {
    let mut view = view_after([blocked("b"), blocked("a"), blocked("a")]);
    let asked = |view: &RunView| -> Vec<u32> { view.open_asks().iter().map(|ask| ask.number()).collect() };
    assert_eq!(asked(&view), [1, 2, 3]);
    follow(&mut view, [answered(3)]);
    assert_eq!(asked(&view), [1]);
}

#[test]
fn a_message_about_changed_tests_closes_their_question() {
    let questioned = Event::Ask(AskEvent::Asked {
        ask: Box::new(crate::run::tests_question(2, 1, &TestsChange::default())),
    });
    let stated = Event::Agent(AgentEvent::Stated {
        iteration: 1,
        claims: Vec::new(),
        blocked: None,
        denies_done: None,
        question: None,
        status: None,
        review: None,
        tests_changed: Some("they were wrong".to_owned()),
        comments: Vec::new(),
    });
    let mut view = view_after([blocked("a"), stated, questioned, answered(1)]);
    assert_eq!(view.changed_tests.why.as_deref(), Some("they were wrong"));
    assert!(view.permissions.about_tests().is_some(), "question 1 was another one");
    follow(&mut view, [answered(2)]);
    assert_eq!(view.changed_tests.why, None);
    assert!(view.permissions.about_tests().is_none());
}

#[test]
fn a_task_is_set_aside_by_a_question_by_its_limit_or_by_the_user() {
    let set_aside = Event::Task(TaskEvent::SetAsideByUser {
        task: "left out".to_owned(),
    });
    let view = view_after([
        run_started(one_iteration_per_task()),
        plan_read(&["[ ] blocked", "[ ] limited", "[ ] left out", " [ ] inner", "[ ] free"]),
        iteration_started(1, Some("limited"), None),
        iteration_ended(1),
        blocked("blocked"),
        set_aside,
    ]);
    for task in ["blocked", "limited", "left out", "inner"] {
        assert!(view.is_set_aside(task), "{task}");
    }
    assert!(!view.is_set_aside("free"));
    assert_eq!(view.set_aside(), ["blocked", "limited", "left out", "inner"]);
    assert_eq!(task_text(&view), Some("free"));
}

#[test]
fn a_limit_sets_aside_open_tasks_only() {
    let view = view_after([
        run_started(one_iteration_per_task()),
        plan_read(&["[ ] a", "[ ] b", "[ ] c"]),
        iteration_started(1, Some("a"), None),
        plan_read(&["[x] a", "[ ] b", "[ ] c"]),
        iteration_ended(1),
        iteration_started(2, Some("b"), None),
        iteration_ended(2),
    ]);
    let states: Vec<_> = view.tasks().iter().map(|task| (task.state, task.limit)).collect();
    let limit = Some(LimitKind::TaskIterations);
    let expected = [
        (TaskState::Done, None),
        (TaskState::Blocked, limit),
        (TaskState::Open, None),
    ];
    assert_eq!(states, expected);
}

#[test]
fn the_current_work_is_that_on_the_task_of_the_agent_or_else_on_the_next_one() {
    let iterations = |view: &RunView| view.current_work().map(|work| work.iterations);
    let mut view = view_after([plan_read(&["[ ] a", "[ ] b"])]);
    assert_eq!(iterations(&view), None, "nobody has worked on the next task");
    follow(
        &mut view,
        [
            iteration_started(1, Some("a"), None),
            iteration_ended(1),
            iteration_started(2, Some("b"), None),
        ],
    );
    assert_eq!(iterations(&view), Some(vec![2]));
    follow(&mut view, [iteration_ended(2)]);
    assert_eq!(iterations(&view), Some(vec![1]));
    follow(&mut view, [plan_read(&["[x] a", "[x] b"])]);
    assert_eq!(iterations(&view), None, "nothing is left");
}

#[test]
fn a_task_stays_current_while_its_agent_works() {
    for (event, next) in [
        (plan_read(&["[x] a", "[ ] b"]), "b"),
        (Event::Task(TaskEvent::SetAsideByUser { task: "a".to_owned() }), "b"),
        (plan_read(&["[ ] new", "[ ] a", "[ ] b"]), "new"),
    ] {
        let mut view = view_after([plan_read(&["[ ] a", "[ ] b"]), iteration_started(1, Some("a"), None)]);
        assert_eq!(task_text(&view), Some("a"));
        follow(&mut view, [event.clone()]);
        assert_eq!(task_text(&view), Some("a"), "{event:?}");
        follow(&mut view, [iteration_ended(1)]);
        assert_eq!(task_text(&view), Some(next), "{event:?}");
        follow(&mut view, [stopped(StopReason::Requested, Vec::new())]);
        assert_eq!(task_text(&view), None, "the run is over");
    }
}

#[test]
fn a_reviewed_task_is_current_although_it_is_done() {
    let settings = Settings {
        review: Some(ReviewSettings {
            by: Worker::default(),
            when: ReviewWhen::Task,
            rounds: 1,
        }),
        ..Settings::default()
    };
    let view = view_after([
        run_started(settings),
        plan_read(&["[ ] b", "[x] a"]),
        iteration_started(2, Some("a"), None),
    ]);
    assert_eq!(task_text(&view), Some("a"));
}

#[test]
fn of_two_tasks_with_the_same_text_the_open_one_is_current() {
    let view = view_after([
        plan_read(&["[ ] a", "[ ] a", "[ ] b"]),
        iteration_started(1, Some("a"), None),
        plan_read(&["[x] a", "[ ] a", "[ ] b"]),
    ]);
    assert_eq!(view.task().map(|task| task.line), Some(2));
}

#[test]
fn the_limits_of_the_run_count_its_iterations_and_its_time() {
    let mut settings = Settings::default();
    settings.limits.max_iterations = Some(2);
    settings.limits.max_time_ms = Some(1_000);
    let mut view = view_after([
        run_started(settings),
        iteration_started(1, None, None),
        iteration_ended(1),
    ]);
    let start_ms = view.clock.started_ms;
    assert_eq!(run_limit_reached(&view, start_ms + 999), None);
    assert_eq!(run_limit_reached(&view, start_ms + 1_000), Some(LimitKind::MaxTime));
    follow(&mut view, [iteration_started(2, None, None)]);
    assert_eq!(run_limit_reached(&view, start_ms), Some(LimitKind::MaxIterations));
}

#[test]
fn time_without_work_does_not_count_for_a_request_that_waits() {
    let mut view = view_after([iteration_started(3, None, None), question_asked(1, false)]);
    let before = view.permissions.pending[0].clone();
    let waited_ms = view.permissions.waited_by(1_002);
    follow(&mut view, [Event::Time(TimeEvent::ClockMoved { gap_ms: 500 })]);
    let moved = &view.permissions.pending[0];
    assert_eq!(moved.asked_ms, before.asked_ms + 500);
    assert_eq!(moved.until_ms, before.until_ms.map(|until_ms| until_ms + 500));
    assert_eq!(view.permissions.waited_by(1_502), waited_ms);
}

#[test]
fn a_refusal_stands_until_progress_or_the_user_lifts_it() {
    let fewer = || Missing::FewerTests {
        goal: "tests".into(),
        before: TestCounts {
            passed: 3,
            ..TestCounts::default()
        },
        now: None,
    };
    let original = || Missing::OriginalTestsFail {
        goal: "tests".into(),
        why: None,
        output_tail: Default::default(),
        changes: [GuardedChange {
            path: "test_a.py".into(),
            kind: GuardedChangeKind::Changed,
            part: None,
        }]
        .into_iter()
        .collect(),
    };
    let iteration = |number, files, reasons: Vec<Missing>| {
        let settled = Event::Iteration(IterationEvent::Settled {
            iteration: number,
            checkpoint: None,
            changes: Some(Changes {
                files,
                ..Changes::default()
            }),
            totals: None,
            progress: Some(files > 0),
            undone: false,
            committed: None,
            elsewhere: Elsewhere::default(),
        });
        let refused = Event::Claim(ClaimEvent::Refused {
            iteration: number,
            reasons: Missing::listed(reasons),
        });
        [
            iteration_started(number, None, None),
            iteration_ended(number),
            settled,
            refused,
        ]
    };
    let open = Missing::TasksOpen {
        open: 1,
        next: "b".into(),
    };
    let mut view = view_after([run_started(Settings::default())]);
    assert_eq!(standing_refusal(&view), None);
    follow(&mut view, iteration(1, 1, vec![open.clone()]));
    follow(&mut view, iteration(2, 0, vec![]));
    assert_eq!(standing_refusal(&view).map(|refusal| refusal.reason), Some(&open));
    follow(&mut view, iteration(3, 2, vec![original(), fewer()]));
    follow(&mut view, iteration(4, 0, vec![original(), fewer()]));
    let weakened = (fewer(), vec![Text::from("test_a.py")], 2);
    let standing = |view: &RunView| {
        let refusal = standing_refusal(view)?;
        let files = refusal.files.into_iter().cloned().collect();
        Some(((refusal.reason.clone(), files, refusal.times), refusal.iteration))
    };
    assert_eq!(
        standing(&view),
        Some((weakened.clone(), None)),
        "either may have changed them"
    );
    let mut confirmed = view.clone();
    let by = ConfirmedBy::User {
        at: AnswerPlace::CommandLine,
        ask: 1,
    };
    confirmed.apply_event(
        1,
        &Event::Gate(GateEvent::TestsConfirmed {
            iteration: 4,
            changes: Default::default(),
            by,
        }),
    );
    assert_eq!(standing_refusal(&confirmed), None);
    let mut only = view_after([run_started(Settings::default())]);
    follow(&mut only, iteration(1, 2, vec![original(), fewer()]));
    follow(&mut only, iteration(2, 0, vec![original(), fewer()]));
    assert_eq!(standing(&only), Some((weakened, Some(1))));
    follow(&mut only, iteration(3, 1, vec![]));
    assert_eq!(standing_refusal(&only), None, "files have changed since");
}
