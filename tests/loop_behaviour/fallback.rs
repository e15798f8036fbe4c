//! Adapters that stand in while the first one is limited.

use std::time::Duration;

use ralph_core::{
    event::{Event, IterationEvent, Proof, Record, StopReason, TimeEvent, UserCommand, Wait, WaitEnd},
    run::Phase,
};
use serde_json::json;

use super::{notices, reason, said, started};
use crate::harness::{
    SOON, events,
    in_process::{AgentTurn, FunctionAgent, LoopProject, Looping, RunningLoop},
};

const HOUR_MS: u64 = 60 * 60 * 1000;

/// Fails with a limit that ends in `for_ms` milliseconds.
fn limited(turn: &AgentTurn, for_ms: u64) {
    let until_ms = turn.now_ms() + for_ms;
    turn.failed(&json!({"kind": "quota-exhausted", "untilMs": until_ms}), "no more");
}

/// An agent that is limited in the first iteration.
fn limited_at_first(for_ms: u64) -> FunctionAgent {
    FunctionAgent::jsonl(move |turn| async move {
        if turn.n == 1 {
            return limited(&turn, for_ms);
        }
        turn.work();
        turn.over("done");
    })
}

fn broken() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move { turn.failed(&json!({"kind": "other"}), "broken") })
}

/// A loop with three agents; later ones stand in for those before them.
fn looping<'a>(project: &'a LoopProject, [first, second, third]: &[FunctionAgent; 3]) -> Looping<'a> {
    let second = second.clone().called("second");
    let third = third.clone().called("third");
    project.looping(first).standing_in(&second).standing_in(&third)
}

/// The adapter of each iteration, in order.
fn adapters(records: &[Record]) -> Vec<&str> {
    events(records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Started { adapter, .. }) => Some(adapter.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_repeats_a_limited_request_in_silence_is_replaced_long_before_the_idle_limit() {
    let project = LoopProject::new();
    project.plan(1);
    let sleeping = FunctionAgent::jsonl(|turn| async move {
        let kind = json!({"kind": "rate-limited", "untilMs": null});
        turn.signal(&json!({"type": "retrying", "attempt": 1, "of": 5, "why": "429", "kind": kind}));
        turn.hang().await;
    });
    let finished = project
        .looping(&sleeping)
        .standing_in(
            &FunctionAgent::jsonl(|turn| async move {
                turn.work();
                turn.over("done");
            })
            .called("second"),
        )
        .with(|settings| settings.limits.idle_timeout_ms = Some(HOUR_MS))
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(adapters(&records), ["script", "second"]);
    let limited = |event: &Event| match event {
        Event::Iteration(IterationEvent::Ended {
            outcome, duration_ms, ..
        }) => outcome.was_limited().then_some(*duration_ms),
        _ => None,
    };
    let waited_ms = events(&records).find_map(limited).expect("a limited iteration");
    assert!((15_000..30_000).contains(&waited_ms), "{waited_ms}");
}

async fn killed_when(running: RunningLoop, seen: impl Fn(&Event) -> bool) {
    running.wait_for_record(seen).await;
    running.kill().await;
}

#[tokio::test(start_paused = true)]
async fn the_next_adapter_works_while_the_first_is_limited_and_leaves_when_it_is_back() {
    let project = LoopProject::new();
    let second = FunctionAgent::jsonl(|turn| async move {
        // One second is added for clocks that differ.
        tokio::time::sleep(Duration::from_secs(2)).await;
        turn.work();
        turn.over("done");
    });
    let agents = [limited_at_first(500), second, broken()];
    let finished = looping(&project, &agents).max_iterations(2).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(adapters(&records), ["script", "second", "script"]);
    assert!(
        !events(&records).any(|event| matches!(event, Event::Time(TimeEvent::WaitStarted { .. }))),
        "nobody had to wait"
    );
    assert_eq!(notices(&records), ["continuing with second", "continuing with script"]);
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("after iteration 1: script was limited for "),
        "{report}"
    );
    assert!(report.contains("(second)"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn who_is_limited_is_known_after_a_restart_and_so_is_when_it_is_over() {
    let project = LoopProject::new();
    let second = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            turn.work();
            return turn.over("done");
        }
        turn.said("ready");
        turn.hang().await;
    });
    let agents = [limited_at_first(HOUR_MS), second, broken()];
    killed_when(looping(&project, &agents).start(), said("ready")).await;
    killed_when(looping(&project, &agents).start(), started(4)).await;
    assert_eq!(adapters(&project.journal()), ["script", "second", "second", "second"]);
    let status = project.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("second") && status.contains("script is limited for"),
        "{status}"
    );
    tokio::time::advance(Duration::from_millis(3 * HOUR_MS)).await;
    let finished = looping(&project, &agents).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(adapters(&finished.records()), ["script"]);
}

#[tokio::test(start_paused = true)]
async fn when_all_are_limited_the_first_that_is_back_is_waited_for_and_a_retry_asks_the_first() {
    let project = LoopProject::new();
    project.plan(1);
    let limited_for = |ms| FunctionAgent::jsonl(move |turn| async move { limited(&turn, ms) });
    let agents = [
        limited_at_first(3 * HOUR_MS),
        limited_for(HOUR_MS),
        limited_for(2 * HOUR_MS),
    ];
    let running = looping(&project, &agents).start();
    let waits = |event: &Event| matches!(event, Event::Time(TimeEvent::WaitStarted { .. }));
    let waiting = running.wait_for_record(waits).await;
    let Event::Time(TimeEvent::WaitStarted { wait, until_ms, .. }) = waiting.event else {
        panic!("no wait")
    };
    assert_eq!(wait, Wait::LimitReset);
    let left_ms = until_ms - waiting.at_ms;
    assert!((HOUR_MS / 2..HOUR_MS + HOUR_MS / 2).contains(&left_ms), "{left_ms}");
    let status = running.status().await;
    assert_eq!(status.phase, "waiting for the agent's limit to reset");
    assert!(
        matches!(running.view().phase, Phase::Waiting { until_ms: until, .. } if until == until_ms),
        "{:?}",
        running.view().phase
    );
    running.command(UserCommand::RetryNow).await.unwrap();
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(adapters(&records), ["script", "second", "third", "script"]);
    let cause = WaitEnd::RetriedNow;
    assert!(events(&records).any(|event| *event == Event::Time(TimeEvent::WaitEnded { cause })));
    assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
}
