use std::path::PathBuf;

use ralph_core::event::{
    AgentEvent, AgentSignal, BreakerCause, BreakerState, Changes, ClaimEvent, Event, Exit, GateEvent, Goal,
    GuardedChangeKind, Hint, IterationEvent, LimitKind, Missing, Notice, Outcome, PlanEvent, PlanSnapshot, PlanTask,
    Problem, ProblemKind, Proof, Record, RunEvent, Settings, SteeringEvent, SteeringId, SteeringKind, TaskEvent,
    TimeEvent, Usage, Wait, WaitCause, WaitEnd,
};
use ralph_core::{
    run::TaskState,
    testing::{goal_checked, iteration_started},
};

use super::*;

fn records(events: impl IntoIterator<Item = (u64, Event)>) -> Vec<Record> {
    let numbered = events.into_iter().zip(0..);
    numbered
        .map(|((at_ms, event), seq)| Record { seq, at_ms, event })
        .collect()
}

fn began(goals: &[&str]) -> Event {
    let goals = goals.iter().map(|name| Goal {
        name: (*name).to_owned(),
        command: "true".to_owned(),
        target: None,
        timeout_ms: 1,
        on_edit: false,
        ..Goal::default()
    });
    Event::Run(RunEvent::Started {
        project: PathBuf::from("/project"),
        pid: 1,
        settings: Box::new(Settings {
            adapter: "codex".to_owned(),
            plan: PathBuf::from("/project/PLAN.md"),
            goals: goals.collect(),
            ..Settings::default()
        }),
        promise: "DONE".to_owned(),
        number: 1,
        earlier_starts_ms: Vec::new(),
        earlier_spending: Vec::new(),
    })
}

fn plan(tasks: &[(&str, bool)]) -> Event {
    let tasks = tasks.iter().map(|(text, done)| PlanTask {
        text: (*text).to_owned(),
        done: *done,
        line: 1,
        depth: 0,
        heading: None,
        settings: Default::default(),
        ..PlanTask::default()
    });
    Event::Plan(PlanEvent::Read {
        plan: PlanSnapshot { tasks: tasks.collect() },
    })
}

fn started(iteration: u32, task: &str) -> Event {
    iteration_started(iteration, Some(task), None)
}

fn ended(iteration: u32, outcome: Outcome) -> Event {
    Event::Iteration(IterationEvent::Ended {
        iteration,
        outcome,
        exit: Some(Exit::Code { code: 0 }),
        duration_ms: 2_000,
        output_bytes: 0,
    })
}

fn used(iteration: u32, input_tokens: u64) -> Event {
    Event::Agent(AgentEvent::Reported {
        iteration,
        signal: AgentSignal::Usage {
            usage: Usage {
                input_tokens: Some(input_tokens),
                ..Usage::default()
            },
        },
    })
}

fn checked(iteration: u32, name: &str, passed: bool) -> Event {
    goal_checked(iteration, name, i32::from(!passed), "first\n\u{1b}[31mlast\n")
}

fn stopped(reason: StopReason) -> Event {
    Event::Run(RunEvent::Stopped {
        reason,
        hints: vec![Hint::Resume].into(),
        totals: Totals::default(),
    })
}

fn report_of(records: &[Record]) -> RunReport {
    RunReport::from_view(RunView::of(records))
}

fn report(events: impl IntoIterator<Item = Event>) -> RunReport {
    report_of(&records(events.into_iter().map(|event| (0, event))))
}

fn text(report: &RunReport) -> String {
    let mut out = Vec::new();
    write_text(report, OutputStyle::PLAIN, |at_ms| format!("{at_ms} ms"), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_whole_of_a_report_as_text() {
    let limited = Outcome::Failed {
        problem: Problem::said(ProblemKind::RateLimited { until_ms: None }, "too many\nrequests"),
    };
    let report = report_of(&records([
        (0, began(&["tests"])),
        (0, plan(&[("One", false), ("Two", false)])),
        (1_000, started(1, "One")),
        (2_000, used(1, 900)),
        (3_000, ended(1, limited)),
        (
            3_000,
            Event::Time(TimeEvent::WaitStarted {
                wait: Wait::LimitReset,
                until_ms: 0,
                attempt: 0,
                why: WaitCause::Failure {
                    problem: Problem::said(ProblemKind::RateLimited { until_ms: None }, "too many requests"),
                },
            }),
        ),
        (
            63_000,
            Event::Time(TimeEvent::WaitEnded {
                cause: WaitEnd::Elapsed,
            }),
        ),
        (63_000, started(1, "One")),
        (64_000, plan(&[("One", true), ("Two", false)])),
        (64_000, ended(1, Outcome::Completed)),
        (64_000, checked(1, "tests", false)),
        (
            64_000,
            Event::Run(RunEvent::Stopped {
                reason: StopReason::LimitReached {
                    limit: LimitKind::MaxTime,
                },
                hints: vec![Hint::Resume].into(),
                totals: Totals {
                    iterations: 1,
                    tasks_done: 1,
                    tasks_open: 1,
                    changes: None,
                    usage: Usage {
                        input_tokens: Some(900),
                        ..Usage::default()
                    },
                    elapsed_ms: 64_000,
                },
            }),
        ),
    ]));
    insta::assert_snapshot!(text(&report), @r"
run 1 (unknown): 0 ms to 64000 ms
codex · /project/PLAN.md
STOPPED: time limit reached · 1 of 2 tasks · 1m04s · tests has never passed
  cost          unknown: the agent reports none
  needs you     decide whether to continue (1 task open)
hint: `ralph continue` continues this run, `ralph` starts a new one

    #  outcome      time  commits  files       +       −  task
    1  failed       2.0s        -      -       -       -  One
    1  completed    2.0s        -      -       -       -  One

  1 of 2 tasks done · 1 iteration · 1m04s · 900 tokens in
  1 wait, 1m00s total

Needs you
  decide whether to continue (1 task open)

Unverified
  goal tests failed in its last run: exit code 1

Tasks
  ✔ One (iteration 1)
  ○ Two

Goals
  tests failed in 1.0s: exit code 1, after iteration 1
      | first
      | last

Iterations
  1: One
      failed (rate limited: too many requests) after 2.0s (codex)
      900 tokens in, cost unknown
  1: One
      tokens and cost: unknown
      goal tests failed in 1.0s: exit code 1

Waits
  1m00s for a limit to reset, after iteration 1: too many requests
");
}

#[test]
fn done_tasks_that_are_no_longer_in_the_plan_file_are_counted_once() {
    let task = |text: &str, line| PlanTask {
        text: text.to_owned(),
        done: true,
        line,
        ..PlanTask::default()
    };
    let tidied = |tasks: Vec<PlanTask>| {
        let plan = Event::Plan(PlanEvent::Read {
            plan: PlanSnapshot { tasks },
        });
        text(&report_of(&records([(1_000, began(&[])), (1_000, plan)])))
    };
    let two = tidied(vec![task("One", 0), task("Two", 0), task("Three", 1)]);
    assert!(
        two.contains("  ✔ Three\n  2 of the done tasks were removed from the plan file\n"),
        "{two}"
    );
    assert!(!tidied(vec![task("One", 1)]).contains("removed"));
}

#[test]
fn a_run_without_an_end_counts_what_is_there() {
    let report = report_of(&records([
        (1_000, began(&[])),
        (1_000, plan(&[("One", true), ("Two", false)])),
        (2_000, started(1, "One")),
        (3_000, used(1, 5)),
        (4_000, used(1, 6)),
    ]));
    assert_eq!(report.end, None);
    assert_eq!((report.totals.tasks_done, report.totals.tasks_open), (1, 1));
    assert_eq!((report.totals.iterations, report.totals.elapsed_ms), (1, 3_000));
    assert_eq!(report.totals.usage.input_tokens, Some(11));
    assert_eq!(report.totals.usage.cost_usd, None);
    assert_eq!(report.iterations().next().unwrap().outcome, None);
}

#[test]
fn the_time_in_which_ralph_was_dead_is_no_time_of_the_run() {
    let resumed = Event::Run(RunEvent::Resumed {
        ralph: String::new(),
        pid: 2,
        settings: Box::default(),
    });
    let report = report_of(&records([
        (1_000, began(&[])),
        (2_000, plan(&[])),
        (500_000, resumed),
        (501_000, plan(&[])),
    ]));
    assert_eq!(report.totals.elapsed_ms, 2_000);
}

#[test]
fn a_goal_is_verified_only_by_its_last_run_after_the_last_iteration() {
    let done = || stopped(StopReason::done(Proof::Tests));
    let verified = report([
        began(&["a"]),
        started(1, "x"),
        checked(1, "a", false),
        started(2, "x"),
        checked(2, "a", true),
        done(),
    ]);
    assert_eq!(verified.unverified, [] as [&str; 0]);
    let stale = report([
        began(&["a"]),
        started(1, "x"),
        checked(1, "a", true),
        started(2, "x"),
        done(),
    ]);
    assert_eq!(
        stale.unverified,
        ["goal a passed after iteration 1 and was not run since"]
    );
    let beside = |iteration, passed| {
        let Event::Gate(GateEvent::GoalChecked { result, .. }) = checked(iteration, "a", passed) else {
            unreachable!("a result of a goal")
        };
        Event::Gate(GateEvent::IterationChecked {
            iteration,
            results: vec![result],
            news: Vec::new(),
            live: false,
        })
    };
    let looked_at = |end: &[(u32, bool)]| {
        let looks = end
            .iter()
            .flat_map(|&(number, passed)| [started(number, "x"), beside(number, passed)]);
        report(
            [began(&["a"]), checked(0, "a", true)]
                .into_iter()
                .chain(looks)
                .chain([done()]),
        )
        .unverified
    };
    assert_eq!(
        looked_at(&[(1, true), (2, false), (3, false)]),
        ["goal a is broken since iteration 2"]
    );
    assert_eq!(
        looked_at(&[(1, true), (2, true)]),
        ["goal a passed with the files of iteration 2, and was not run for a claim since"]
    );
    let failing = report([began(&["a", "b"]), started(1, "x"), checked(1, "a", false), done()]);
    assert_eq!(
        failing.unverified,
        ["goal a failed in its last run: exit code 1", "goal b: not run"]
    );
}

#[test]
fn goals_that_pass_before_the_first_iteration_verify_it() {
    let done = stopped(StopReason::done(Proof::Tests));
    let report = report([began(&["a"]), plan(&[("One", true)]), checked(0, "a", true), done]);
    assert_eq!(report.view.iterations.at_start.goals.len(), 1);
    assert_eq!(report.unverified, [] as [&str; 0]);
    assert!(text(&report).contains("before the first\n"), "{}", text(&report));
}

#[test]
fn a_block_that_was_resolved_and_a_task_that_came_back_need_nobody() {
    let blocked = Event::Task(TaskEvent::Blocked {
        iteration: 1,
        task: Some("One".to_owned()),
        question: "Which key?".into(),
    });
    let edited = Event::Plan(PlanEvent::Edited {
        iteration: 1,
        vanished: vec!["Two".to_owned()],
        added: Vec::new(),
    });
    let first = [
        began(&["a"]),
        plan(&[("One", false)]),
        started(1, "One"),
        blocked,
        edited,
    ];
    let now = report(first.clone());
    assert_eq!(
        now.needs_person,
        [
            "an answer for the task \"One\": Which key?",
            "check the plan: the task \"Two\" was removed from it"
        ]
    );
    assert_eq!(now.tasks[0].state, TaskState::Blocked);
    assert_eq!(now.tasks[1].state, TaskState::Vanished);
    let later = [
        plan(&[("One", true), ("Two", true)]),
        stopped(StopReason::done(Proof::Tests)),
    ];
    let later = report(first.into_iter().chain(later));
    assert_eq!(later.needs_person, [] as [&str; 0]);
    assert_eq!(later.tasks[0].question, None);
}

#[test]
fn a_message_that_never_arrived_needs_a_person_and_a_withdrawn_one_does_not() {
    let queued = |id, text: &str| {
        Event::Steering(SteeringEvent::Queued {
            id: SteeringId(id),
            kind: SteeringKind::Next,
            text: text.to_owned(),
            answers: None,
        })
    };
    let report = report([
        began(&[]),
        queued(1, "one"),
        queued(2, "two"),
        Event::Steering(SteeringEvent::Withdrawn { id: SteeringId(2) }),
        stopped(StopReason::Interrupted),
    ]);
    assert_eq!(report.needs_person, ["message 1 was not delivered: one"]);
}

#[test]
fn while_a_run_goes_on_its_messages_are_queued_and_its_iteration_runs() {
    let events = [
        began(&[]),
        started(1, "One"),
        Event::Steering(SteeringEvent::Queued {
            id: SteeringId(1),
            kind: SteeringKind::Next,
            text: "use tabs".to_owned(),
            answers: None,
        }),
    ];
    let view = RunView::of(&records((1_000..).zip(events)));
    let running = RunReport::from_running(view.clone(), 43_001);
    assert_eq!(running.needs_person, [] as [&str; 0]);
    let mut text = Vec::new();
    write_text(&running, OutputStyle::PLAIN, |_| String::new(), &mut text).expect("memory takes every write");
    let text = String::from_utf8(text).expect("text");
    for expected in [
        "still running",
        "1 iteration · 42s",
        "running for 42s (codex)",
        "1 (once, queued): use tabs",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }

    let cut_off = RunReport::from_view(view);
    assert_eq!(cut_off.needs_person, ["message 1 was not delivered: use tabs"]);
    assert_eq!(
        super::head::outcome_cell(&cut_off, cut_off.iterations().next().unwrap()),
        "cut off"
    );
}

#[test]
fn a_breaker_that_opened_is_named_as_what_needs_a_person() {
    let moved = Event::BreakerMoved {
        to: BreakerState::Open,
        why: BreakerCause::NoProgress { iterations: 6 },
    };
    let why = BreakerCause::NoProgress { iterations: 6 };
    let report = report([began(&[]), moved, stopped(StopReason::BreakerOpen { why })]);
    assert_eq!(
        report.troubles,
        ["after iteration 0: stuck: 6 consecutive iterations without changes"]
    );
    assert_eq!(report.needs_person, ["stopped: no progress in 6 iterations"]);
}

#[test]
fn nothing_of_an_agent_reaches_a_terminal_as_it_is() {
    let evil = "\u{1b}]0;evil\u{7}\u{1b}[2Jtext";
    let report = report([
        began(&[]),
        plan(&[(evil, false)]),
        started(1, evil),
        Event::Steering(SteeringEvent::Queued {
            id: SteeringId(1),
            kind: SteeringKind::Standing,
            text: evil.to_owned(),
            answers: None,
        }),
        Event::Task(TaskEvent::Blocked {
            iteration: 1,
            task: Some(evil.to_owned()),
            question: evil.into(),
        }),
        Event::Claim(ClaimEvent::Refused {
            iteration: 1,
            reasons: vec![Missing::SaidNotDone { why: evil.into() }].into(),
        }),
        stopped(StopReason::Blocked { question: evil.into() }),
    ]);
    for written in [text(&report), markdown(&report, |_| "then".to_owned())] {
        assert!(!written.contains(['\u{1b}', '\u{7}']), "{written:?}");
        assert!(written.contains("text"));
    }
}

#[test]
fn what_to_read_first_is_ordered_by_risk_and_says_since_when() {
    let changed = |path: &str, change, role, iteration| ChangedFile {
        path: path.to_owned(),
        change,
        role,
        iteration,
        removed: Vec::new(),
    };
    let noticed = |notice: Notice| Event::Noticed { notice };
    let settled = |iteration, added| {
        Event::Iteration(IterationEvent::Settled {
            iteration,
            checkpoint: None,
            changes: Some(Changes {
                files: 1,
                added,
                ..Changes::default()
            }),
            totals: None,
            progress: Some(true),
            undone: false,
            committed: None,
            elsewhere: Default::default(),
        })
    };
    let costs = |iteration, cost| {
        Event::Agent(AgentEvent::Reported {
            iteration,
            signal: AgentSignal::Usage {
                usage: Usage {
                    cost_usd: Some(cost),
                    ..Usage::default()
                },
            },
        })
    };
    let tasks = |done: usize| {
        let tasks: Vec<(String, bool)> = (0..6).map(|at| (format!("Task {at}"), at < done)).collect();
        let tasks: Vec<(&str, bool)> = tasks.iter().map(|(text, done)| (&**text, *done)).collect();
        plan(&tasks)
    };
    let mut events = vec![began(&["tests"]), tasks(0), checked(0, "tests", true)];
    for iteration in 1..=5 {
        events.push(started(iteration, "Task"));
        events.extend((iteration < 5).then(|| costs(iteration, if iteration == 2 { 9.0 } else { 0.5 })));
        events.push(tasks(iteration as usize));
        events.push(ended(iteration, Outcome::Completed));
        events.push(settled(iteration, if iteration == 4 { 900 } else { 3 }));
    }
    events.push(checked(5, "tests", false));
    for (code, name, value) in [
        ("sandbox-denied", "path", "/home/ada/.bashrc"),
        ("sandbox-hides", "place", "/home/ada/.ssh"),
        ("sandbox-hides", "place", "/home/ada/.ssh"),
        ("autorun-changed", "path", ".git/hooks/pre-commit\n.envrc"),
        ("processes-ended", "commands", "git gc\nsleep 3000"),
        ("processes-ended", "commands", "git gc"),
    ] {
        events.push(noticed(Notice::warning(code, "a sentence").with(name, value)));
    }
    let limit = LimitKind::MaxTime;
    let reason = StopReason::LimitReached { limit };
    events.push(Event::Run(RunEvent::Stopped {
        reason,
        hints: Default::default(),
        totals: Totals {
            iterations: 5,
            tasks_done: 5,
            tasks_open: 1,
            changes: None,
            usage: Usage {
                cost_usd: Some(10.5),
                ..Usage::default()
            },
            elapsed_ms: 60_000,
        },
    }));
    let report = report(events).with_files(Some(ChangedFiles {
        files: vec![
            changed("LICENSE", GuardedChangeKind::Deleted, FileRole::Tools, 4),
            ChangedFile {
                removed: vec![RemovedLines { iteration: 2, lines: 4 }],
                ..changed("test_a.py", GuardedChangeKind::Changed, FileRole::Test, 3)
            },
            changed("test_c.py", GuardedChangeKind::Changed, FileRole::Test, 2),
            changed("test_b.py", GuardedChangeKind::Added, FileRole::Test, 3),
            changed(".github/ci.yml", GuardedChangeKind::Changed, FileRole::Tools, 1),
            changed("a.py", GuardedChangeKind::Changed, FileRole::Work, 1),
        ],
        idle: vec![5],
    }));
    let mut out = Vec::new();
    write_first(&report, OutputStyle::PLAIN, &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
STOPPED: time limit reached · 5 of 6 tasks · $10.50 · 1m00s · tests: broken by one of the iterations 1–5
  review first  deleted: LICENSE (iteration 4)
                tests: test_a.py (−4 in iteration 2), test_c.py (only added to, iteration 2)
                configuration, CI, hooks, instructions, data: .github/ci.yml (iteration 1), .git/hooks/pre-commit, .envrc
                ticked without a change: "Task" (iteration 5)
                far more than the others: iteration 4 (+900 −0), iteration 2 ($9.00)
  refused       by the sandbox: to read /home/ada/.ssh; to write /home/ada/.bashrc
  ended         processes that sessions left: `sleep 3000`, `git gc` ×2
  cost          at least $10.50, $2.10 a task, at this rate $2.10 for 1 open task: 1 of 5 iterations reported none
  needs you     decide whether to continue (1 task open)
"#);
    assert!(
        report
            .public_lines()
            .iter()
            .all(|line| !line.contains("/home/ada") && !line.contains("sleep") && !line.contains("Task"))
    );
}

#[test]
fn a_run_in_which_nothing_stands_out_says_so_and_equal_idle_iterations_are_one_row() {
    let idle = |iteration| {
        Event::Iteration(IterationEvent::Settled {
            iteration,
            checkpoint: None,
            changes: Some(Changes::default()),
            totals: None,
            progress: Some(false),
            undone: false,
            committed: None,
            elsewhere: Default::default(),
        })
    };
    let mut events = vec![began(&[]), plan(&[("One", false)])];
    for iteration in 1..=6 {
        let task = if iteration == 1 { "Zero" } else { "One" };
        events.extend([
            started(iteration, task),
            ended(iteration, Outcome::Completed),
            idle(iteration),
        ]);
    }
    let report = report(events).with_files(Some(ChangedFiles::default()));
    assert!(
        report.first[1].text.starts_with("nothing stands out: "),
        "{:?}",
        report.first
    );
    let text = text(&report);
    assert!(text.contains("       1  no change    2.0s "), "{text}");
    assert!(text.contains("  2–6 ×5  no change     10s "), "{text}");
    assert!(text.contains("\n  2–6 ×5: One\n"), "{text}");
}
