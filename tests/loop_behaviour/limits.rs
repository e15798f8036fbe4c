//! Limits that are enforced while an iteration runs.

use std::time::Duration;

use ralph_core::event::{
    AgentEvent, CancelReason, Event, IterationEvent, LimitKind, Outcome, ProblemKind, Record, RunEvent, RunId,
    StopReason, StopRequest, TimeEvent, UserCommand, Wait,
};
use ralph_state::store::journal::Journal;
use ralph_words::stop_in_words;
use serde_json::json;

use super::{outcomes, reason, said, started};
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FunctionAgent, LoopProject},
};

const HANG: &str = "exec sleep 600";
const HOUR: Duration = Duration::from_secs(60 * 60);
const HOUR_MS: u64 = 60 * 60 * 1000;

fn cancelled(reason: CancelReason) -> Outcome {
    Outcome::Cancelled { reason }
}

fn waiting(wanted: Wait) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Time(TimeEvent::WaitStarted { wait, .. }) if *wait == wanted)
}

/// An agent that hangs in every iteration.
fn hanging() -> FunctionAgent {
    FunctionAgent::terminal(|turn| async move { turn.hang().await })
}

/// An agent that hangs only in the first iteration.
fn hanging_at_first() -> FunctionAgent {
    FunctionAgent::terminal(|turn| async move {
        if turn.n == 1 {
            turn.hang().await;
        }
        turn.work();
    })
}

#[tokio::test(start_paused = true)]
async fn an_iteration_that_takes_too_long_is_ended_and_the_next_prompt_says_so() {
    let project = LoopProject::new();
    project.plan(1);
    let looping = project.looping(&hanging_at_first());
    let finished = looping
        .with(|settings| settings.limits.iteration_timeout_ms = Some(4_000))
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        outcomes(&finished.records()),
        [&cancelled(CancelReason::IterationTimeout), &Outcome::Completed]
    );
    let prompt = project.prompt(2);
    assert!(prompt.contains("stopped at its time limit"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_ends_the_running_iteration_and_the_exit_code_is_6() {
    let project = LoopProject::new();
    let looping = project.looping(&hanging());
    let finished = looping
        .with(|settings| settings.limits.max_time_ms = Some(2_000))
        .run()
        .await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        outcomes(&records),
        [&cancelled(CancelReason::Limit(LimitKind::MaxTime))]
    );
    let limit = LimitKind::MaxTime;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit });
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_ends_a_pause_too() {
    let project = LoopProject::new();
    project.write(".ralph-pause", "");
    let looping = project.looping(&FunctionAgent::worker());
    let finished = looping
        .with(|settings| settings.limits.max_time_ms = Some(300))
        .run()
        .await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let status = project.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(
        status.contains("\"paused\": false") || status.contains("\"paused\":false"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_time_that_ralph_was_dead_does_not_count_as_time_of_the_run() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        if turn.n != 2 {
            turn.hang().await;
        }
        turn.work();
        turn.over("done");
    });
    let looping = || {
        project
            .looping(&agent)
            .with(|settings| settings.limits.max_time_ms = Some(HOUR_MS))
    };
    let first = looping().start();
    first.wait_for_record(said("ready")).await;
    first.kill().await;
    tokio::time::advance(24 * HOUR).await;
    let finished = looping().run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let durations: Vec<u64> = events(&finished.records())
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Ended { duration_ms, .. }) => Some(*duration_ms),
            Event::Run(RunEvent::Stopped { totals, .. }) => Some(totals.elapsed_ms),
            _ => None,
        })
        .collect();
    assert!(durations.iter().all(|ms| *ms < 24 * HOUR_MS), "{durations:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_that_does_nothing_is_ended_as_hung_and_tried_again() {
    let project = LoopProject::new();
    project.plan(1);
    let looping = project.looping(&hanging_at_first());
    let finished = looping
        .with(|settings| settings.limits.idle_timeout_ms = Some(300))
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records)[0], &cancelled(CancelReason::IdleTimeout));
    assert!(events(&records).any(|event| waiting(Wait::Backoff)(event)));
    let prompt = project.prompt(2);
    assert!(prompt.contains("idle for too long: no output, no CPU"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_that_said_that_it_is_limited_is_waited_for_and_not_called_hung() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        let kind = json!({"kind": "rate-limited", "untilMs": null});
        turn.signal(&json!({"type": "retrying", "attempt": 1, "of": 5, "why": "429", "kind": kind}));
        turn.hang().await;
    });
    let looping = project.looping(&agent);
    let running = looping
        .with(|settings| settings.limits.idle_timeout_ms = Some(1_000))
        .start();
    running.wait_for_record(waiting(Wait::LimitReset)).await;
    running.interrupt().await;
    let records = running.wait().await.records();
    assert!(
        matches!(outcomes(&records)[..], [Outcome::Failed { problem }] if problem.kind == ProblemKind::RateLimited { until_ms: None }),
        "{:?}",
        outcomes(&records)
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_is_counted_down_from_half_of_the_limit_on() {
    let project = LoopProject::new();
    let looping = project.looping(&hanging()).max_iterations(1);
    let running = looping
        .with(|settings| settings.limits.idle_timeout_ms = Some(6_000))
        .start();
    let counts_down =
        |event: &Event| matches!(event, Event::Agent(AgentEvent::FoundIdle { quiet_ms, .. }) if *quiet_ms >= 3_000);
    running.wait_for_record(counts_down).await;
    let quiet = running.status().await.quiet.expect("it is quiet");
    let now_ms = project.now_ms();
    assert!(
        quiet.since_ms < now_ms && quiet.until_ms > now_ms,
        "{quiet:?} at {now_ms}"
    );
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&cancelled(CancelReason::IdleTimeout)]);
    // Warnings come at half and at three quarters of the limit. A late check may merge both.
    let told = events(&records).filter(|event| counts_down(event)).count();
    assert!((1..=2).contains(&told), "{told}");
}

#[test]
fn what_a_hung_agent_had_changed_is_kept_counted_and_progress() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then echo half > half.txt; {HANG}; else work; over done; fi"
    )));
    let finished = sandbox.looping(["--idle-timeout", "300ms"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("half.txt").as_deref(), Some("half\n"));
    let records = finished.records();
    let settled = events(&records).find_map(|event| match event {
        Event::Iteration(IterationEvent::Settled { changes, progress, .. }) => {
            Some((changes.map(|changes| changes.added), *progress))
        }
        _ => None,
    });
    assert_eq!(settled, Some((Some(1), Some(true))));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    let ended = report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut ended = ended.filter(|words| words.get(1..3) == Some(&["timed", "out"][..]));
    // The words are commits, files, and added and removed lines.
    assert_eq!(
        ended.next().map(|words| words[4..8].join(" ")).as_deref(),
        Some("0 1 1 0"),
        "{report}"
    );
    let patch = sandbox.ralph(["diff", "1"]).run(SOON).stdout;
    assert!(patch.contains("+half"), "{patch}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_that_computes_is_spared_by_the_idle_limit() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.compute(Duration::from_secs(4)).await;
        turn.work();
    });
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.limits.idle_timeout_ms = Some(2_000))
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&Outcome::Completed]);
}

#[tokio::test(start_paused = true)]
async fn that_an_agent_was_called_idle_is_taken_back_when_it_computes_again() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.wait_for("awake").await;
        turn.compute(Duration::from_secs(3)).await;
        turn.work();
    });
    let looping = project.looping(&agent);
    let running = looping
        .with(|settings| settings.limits.idle_timeout_ms = Some(6_000))
        .start();
    let is_idle = |event: &Event| matches!(event, Event::Agent(AgentEvent::FoundIdle { .. }));
    running.wait_for_record(is_idle).await;
    project.release("awake");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let told: Vec<bool> = events(&records)
        .filter_map(|event| match event {
            Event::Agent(AgentEvent::FoundIdle { .. }) => Some(true),
            Event::Agent(AgentEvent::FoundActive) => Some(false),
            _ => None,
        })
        .collect();
    assert!(matches!(told[..], [true, false] | [true, true, false]), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn after_the_last_iteration_allowed_the_exit_code_is_6_and_the_hint_names_the_flag() {
    let project = LoopProject::new();
    project.plan(3);
    let looping = || project.looping(&FunctionAgent::worker()).max_iterations(2);
    let finished = looping().run().await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let Some(Event::Run(RunEvent::Stopped { reason, hints, totals })) = records.last().map(|record| &record.event)
    else {
        panic!("no end")
    };
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    let limit = LimitKind::MaxIterations;
    assert_eq!(*reason, StopReason::LimitReached { limit });
    assert!(hints[0].contains("`ralph continue --iterations N`"), "{hints:?}");
    assert_eq!((totals.iterations, totals.tasks_open), (2, 1));
    // The same command starts a new run, as the hint says.
    let finished = looping().run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[tokio::test(start_paused = true)]
async fn tokens_that_an_agent_reports_end_its_iteration_at_the_limit() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        let usage = |input: u64, output: u64| {
            turn.signal(&json!({"type": "usage", "usage": {"inputTokens": input, "outputTokens": output}}));
        };
        usage(60, 39);
        turn.said("under");
        usage(0, 1);
        turn.hang().await;
    });
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.limits.max_tokens = Some(100))
        .run()
        .await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        outcomes(&records),
        [&cancelled(CancelReason::Limit(LimitKind::MaxTokens))]
    );
    assert!(events(&records).any(|event| said("under")(event)));
    let Some(Event::Run(RunEvent::Stopped { totals, .. })) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    assert_eq!(
        (totals.usage.input_tokens, totals.usage.output_tokens),
        (Some(60), Some(40))
    );
}

#[tokio::test(start_paused = true)]
async fn costs_that_an_agent_reports_end_its_iteration_at_the_limit() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.signal(&json!({"type": "usage", "usage": {"costUsd": 0.75}}));
        turn.hang().await;
    });
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.limits.max_cost_usd = Some(0.5))
        .run()
        .await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    assert_eq!(
        outcomes(&finished.records()),
        [&cancelled(CancelReason::Limit(LimitKind::MaxCost))]
    );
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_an_hour_are_waited_for_and_can_be_stopped_while_they_are() {
    let project = LoopProject::new();
    let looping = project.looping(&FunctionAgent::worker());
    let running = looping
        .with(|settings| settings.limits.calls_per_hour = Some(1))
        .start();
    let waiting = running.wait_for_record(waiting(Wait::CallBudget)).await;
    let Event::Time(TimeEvent::WaitStarted { until_ms, .. }) = waiting.event else {
        panic!("no wait")
    };
    assert!(until_ms <= waiting.at_ms + HOUR_MS && until_ms > waiting.at_ms);
    let stop = StopRequest::Graceful;
    running.command(UserCommand::Stop { stop }).await.unwrap();
    assert_eq!(running.wait().await.code(), Some(130));
}

#[test]
fn an_agent_that_talks_without_end_is_ended_in_time_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("yes '{\"type\":\"said\",\"text\":\"more\"}'"));
    let running = sandbox
        .looping(["--iteration-timeout", "700ms", "--max-iterations", "1"])
        .start();
    running.wait_for_record(SOON, started(1));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(6), "{} bytes", finished.stdout.len());
    assert_eq!(
        outcomes(&finished.records()),
        [&cancelled(CancelReason::IterationTimeout)]
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_checkpoint_that_does_not_end_ends_the_run_and_is_named() {
    let mut sandbox = Sandbox::new();
    let hang = sandbox.home().join("hang");
    sandbox.run_before_git(&format!("[ -e {} ] && exec sleep 600", hang.display()));
    // A new file makes ralph ask git.
    sandbox.install(&Script::jsonl("echo new > new.txt; : > $HOME/hang; over done"));
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_LIMITS_PHASE_TIMEOUT", "6s")
        .run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let records = finished.records();
    let why = stop_in_words(reason(&records));
    assert!(
        why.contains("the result of iteration 1") && why.contains("took longer than 6 s"),
        "{why}"
    );
    assert!(why.contains("limits.phaseTimeout"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_an_hour_count_over_the_runs_of_the_project() {
    let project = LoopProject::new();
    project.plan(4);
    let looping = || {
        let looping = project.looping(&FunctionAgent::worker()).max_iterations(1);
        looping.with(|settings| settings.limits.calls_per_hour = Some(2))
    };
    for _ in 0..2 {
        assert_eq!(looping().run().await.code(), Some(6));
    }
    let running = looping().start();
    let waiting = running.wait_for_record(waiting(Wait::CallBudget)).await;
    let Event::Time(TimeEvent::WaitStarted { until_ms, .. }) = waiting.event else {
        panic!("no wait")
    };
    assert!(until_ms > waiting.at_ms && until_ms <= waiting.at_ms + HOUR_MS);
    running.interrupt().await;
    let records = running.wait().await.records();
    assert!(outcomes(&records).is_empty(), "{records:#?}");
}

/// An agent whose first session costs `first_usd` and every other one a dollar, and which finishes a task in each.
fn costing(first_usd: f64) -> FunctionAgent {
    FunctionAgent::jsonl(move |turn| async move {
        let cost_usd = if turn.n == 1 { first_usd } else { 1.0 };
        turn.signal(&json!({"type": "usage", "usage": {"costUsd": cost_usd}}));
        turn.work();
        turn.over("ok");
    })
}

fn tasks_worked_on(records: &[Record]) -> Vec<String> {
    let tasks = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { task, .. }) => task.clone(),
        _ => None,
    });
    tasks.collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_at_its_limit_is_set_aside_told_of_and_left_to_the_user_at_the_end() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            turn.signal(&json!({"type": "usage", "usage": {"costUsd": 1.5}}));
            turn.hang().await;
        }
        turn.edit_plan(|plan| plan.replace("- [ ] Task 2", "- [x] Task 2"));
        turn.over("ok");
    });
    project.plan(2);
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.limits.per_task.max_cost_usd = Some(1.0))
        .run()
        .await;
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    let records = finished.records();
    assert_eq!(tasks_worked_on(&records), ["Task 1", "Task 2"]);
    assert_eq!(
        outcomes(&records)[0],
        &cancelled(CancelReason::Limit(LimitKind::TaskCost))
    );
    let end = stop_in_words(reason(&records));
    assert_eq!(end, "blocked: per-task cost limit reached (\"Task 1\")");
    assert!(
        project.prompt(2).contains("\"Task 1\" is set aside"),
        "{}",
        project.prompt(2)
    );
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("`ralph continue --max-cost-usd-per-task USD`"),
        "{report}"
    );
    let status = project.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("set aside Task 1: per-task cost limit reached"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_day_holds_over_the_runs_of_the_project_until_midnight() {
    let project = LoopProject::new();
    project.plan(4);
    let looping = || {
        let looping = project.looping(&costing(2.0)).max_iterations(1);
        looping.with(|settings| {
            settings.limits.max_time_ms = None;
            settings.limits.per_day.max_cost_usd = Some(4.0);
        })
    };
    assert_eq!(looping().run().await.code(), Some(6));
    // The second run is killed as soon as it has spent its part.
    let spender = FunctionAgent::jsonl(|turn| async move {
        turn.signal(&json!({"type": "usage", "usage": {"costUsd": 2.0}}));
        turn.hang().await;
    });
    let second = project.looping(&spender).max_iterations(1).start();
    second
        .wait_for_record(|event| matches!(event, Event::Agent(AgentEvent::Reported { .. })))
        .await;
    second.kill().await;
    assert_eq!(looping().run().await.code(), Some(6), "it is resumed, and over");
    let third = looping().start();
    let waiting = third.wait_for_record(waiting(Wait::DayBudget)).await;
    let Event::Time(TimeEvent::WaitStarted { until_ms, .. }) = waiting.event else {
        panic!("no wait")
    };
    assert!(until_ms > waiting.at_ms && until_ms <= waiting.at_ms + 25 * HOUR_MS);
    let finished = third.wait().await;
    let records = finished.records();
    let started = records
        .iter()
        .find(|record| matches!(record.event, Event::Iteration(IterationEvent::Started { .. })));
    assert!(started.is_some_and(|record| record.at_ms >= until_ms), "{records:#?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_cuts_the_wait_for_tomorrow_short_allows_as_much_again() {
    let project = LoopProject::new();
    project.plan(2);
    let looping = project.looping(&costing(3.0)).with(|settings| {
        settings.limits.max_time_ms = None;
        settings.limits.per_day.max_cost_usd = Some(3.0);
    });
    let running = looping.start();
    running.wait_for_record(waiting(Wait::DayBudget)).await;
    running.command(UserCommand::RetryNow).await.unwrap();
    let finished = running.wait().await;
    let records = finished.records();
    let days = events(&records).filter(|event| matches!(event, Event::Time(TimeEvent::DayBegan { .. })));
    assert!(days.count() <= 2, "{records:#?}");
    assert_eq!(tasks_worked_on(&records).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_an_hour_outlast_a_run_that_was_killed_before_it_had_begun() {
    let project = LoopProject::new();
    project.plan(4);
    let looping = || {
        let looping = project.looping(&FunctionAgent::worker()).max_iterations(1);
        looping.with(|settings| settings.limits.calls_per_hour = Some(1))
    };
    assert_eq!(looping().run().await.code(), Some(6));
    // The directory of a run that was killed between the first and the second line of its journal.
    let paths = project.paths();
    let id = RunId("20991231-235959-0000000000000000000".to_owned());
    let files = paths.run(&id);
    files.create().expect("a directory of one's own");
    Journal::create(&files.journal(), project.now_ms(), &id).expect("a journal");
    std::fs::write(paths.latest(), &id.0).expect("a state directory of one's own");
    let running = looping().start();
    running.wait_for_record(waiting(Wait::CallBudget)).await;
    running.interrupt().await;
    let records = running.wait().await.records();
    assert!(outcomes(&records).is_empty(), "{records:#?}");
}
