//! Limits, enforced while an iteration runs.

use std::time::Duration;

use nix::sys::signal::Signal;
use ralph::event::{CancelReason, Event, LimitKind, Outcome, ProblemKind, StopReason, Wait};

use super::{outcomes, reason, said, started};
use crate::harness::{SOON, Sandbox, Script, events};

const HANG: &str = "exec sleep 600";

fn cancelled(reason: CancelReason) -> Outcome {
    Outcome::Cancelled { reason }
}

#[test]
fn an_iteration_that_takes_too_long_is_ended_and_the_next_prompt_says_so() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::terminal(&format!("[ $n = 1 ] && {HANG}; work")));
    let finished = sandbox.looping(["--iteration-timeout", "4s"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        outcomes(&finished.records()),
        [&cancelled(CancelReason::IterationTimeout), &Outcome::Completed]
    );
    let prompt = sandbox.prompt(2);
    assert!(prompt.contains("ended at its time limit"), "{prompt}");
}

#[test]
fn the_time_of_a_run_ends_the_running_iteration_and_the_exit_code_is_6() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(HANG));
    let finished = sandbox.looping(["--max-time", "2s"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&cancelled(CancelReason::MaxTime)]);
    let limit = LimitKind::MaxTime;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit });
    sandbox.assert_nothing_runs();
}

#[test]
fn the_time_of_a_run_ends_a_pause_too() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.write(".ralph-pause", "");
    let finished = sandbox.looping(["--max-time", "300ms"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(
        status.contains("\"paused\": false") || status.contains("\"paused\":false"),
        "{status}"
    );
}

#[test]
fn the_time_that_ralph_was_dead_does_not_count_as_time_of_the_run() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; [ $n = 2 ] || await never; work; over done"));
    let first = sandbox.looping(["--max-time", "1h"]).start();
    first.wait_for_record(SOON, said("ready"));
    first.kill();
    first.wait(SOON);
    // As if it had been killed yesterday.
    let journal = sandbox.the_run().journal();
    let day_ms = 24 * 60 * 60 * 1000;
    let aged: String = sandbox
        .journal()
        .into_iter()
        .map(|mut record| {
            record.at_ms -= day_ms;
            serde_json::to_string(&record).unwrap() + "\n"
        })
        .collect();
    std::fs::write(&journal, aged).unwrap();
    let finished = sandbox.looping(["--max-time", "1h"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let durations: Vec<u64> = events(&finished.records())
        .filter_map(|event| match event {
            Event::IterationEnded { duration_ms, .. } => Some(*duration_ms),
            Event::RunStopped { totals, .. } => Some(totals.elapsed_ms),
            _ => None,
        })
        .collect();
    assert!(durations.iter().all(|ms| *ms < day_ms), "{durations:?}");
}

#[test]
fn a_silent_agent_that_does_nothing_is_ended_as_hung_and_tried_again() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::terminal(&format!("[ $n = 1 ] && {HANG}; work")));
    let finished = sandbox.looping(["--idle-timeout", "300ms"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records)[0], &cancelled(CancelReason::IdleTimeout));
    assert!(events(&records).any(|event| matches!(
        event,
        Event::WaitStarted {
            wait: Wait::Backoff,
            ..
        }
    )));
    let prompt = sandbox.prompt(2);
    assert!(prompt.contains("neither wrote nor computed"), "{prompt}");
}

#[test]
fn a_silent_agent_that_said_that_it_is_limited_is_waited_for_and_not_called_hung() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let retrying =
        r#"{"type":"retrying","attempt":1,"of":5,"why":"429","kind":{"kind":"rate-limited","untilMs":null}}"#;
    sandbox.install(&Script::jsonl(&format!("echo '{retrying}'; await never")));
    let running = sandbox.looping(["--idle-timeout", "1s"]).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::WaitStarted {
                wait: Wait::LimitReset,
                ..
            }
        )
    });
    running.signal(Signal::SIGINT);
    let records = running.wait(SOON).records();
    assert!(
        matches!(outcomes(&records)[..], [Outcome::Failed { problem }] if problem.kind == ProblemKind::RateLimited { until_ms: None }),
        "{:?}",
        outcomes(&records)
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_silent_agent_is_counted_down_from_half_of_the_limit_on() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(HANG));
    let running = sandbox
        .looping(["--idle-timeout", "6s", "--max-iterations", "1"])
        .start();
    let counts_down = |event: &Event| matches!(event, Event::Noticed { text, .. } if text.starts_with("the agent has neither written nor computed for "));
    running.wait_for_record(SOON, counts_down);
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("quiet     for "), "{status}");
    assert!(status.contains("the iteration is ended in "), "{status}");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&cancelled(CancelReason::IdleTimeout)]);
    // At half, at three quarters; a look that comes late may find both over.
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
        Event::IterationSettled { changes, progress, .. } => Some((changes.map(|changes| changes.added), *progress)),
        _ => None,
    });
    assert_eq!(settled, Some((Some(1), Some(true))));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("0 commits, 1 file, +1 −0"), "{report}");
    let patch = sandbox.ralph(["diff", "1"]).run(SOON).stdout;
    assert!(patch.contains("+half"), "{patch}");
}

#[test]
fn a_silent_agent_that_computes_is_spared_by_the_idle_limit() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    // Its child works; the agent itself only waits for it.
    // Far more of it than the limit, and a limit within which even a busy machine lets it compute a little.
    sandbox.install(&Script::terminal(r#""$FAKE_AGENT" 'cpu 4000'; work"#));
    let finished = sandbox.looping(["--idle-timeout", "2s"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&Outcome::Completed]);
}

#[test]
fn after_the_last_iteration_allowed_the_exit_code_is_6_and_the_hint_names_the_flag() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.plan(3);
    let finished = sandbox.looping(["--max-iterations", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let Some(Event::RunStopped { reason, hints, totals }) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    let limit = LimitKind::MaxIterations;
    assert_eq!(*reason, StopReason::LimitReached { limit });
    assert!(hints[0].contains("--max-iterations"), "{hints:?}");
    assert_eq!((totals.iterations, totals.tasks_open), (2, 1));
    // As the hint says, the same command goes on.
    let finished = sandbox.looping(["--max-iterations", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn tokens_that_an_agent_reports_end_its_iteration_at_the_limit() {
    let sandbox = Sandbox::new();
    let usage = |input, output| {
        format!(r#"echo '{{"type":"usage","usage":{{"inputTokens":{input},"outputTokens":{output}}}}}'"#)
    };
    let script = format!("{}; said under; {}; {HANG}", usage(60, 39), usage(0, 1));
    sandbox.install(&Script::jsonl(&script));
    let finished = sandbox.looping(["--max-tokens", "100"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&cancelled(CancelReason::MaxTokens)]);
    assert!(events(&records).any(|event| said("under")(event)));
    let Some(Event::RunStopped { totals, .. }) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    assert_eq!(
        (totals.usage.input_tokens, totals.usage.output_tokens),
        (Some(60), Some(40))
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn costs_that_an_agent_reports_end_its_iteration_at_the_limit() {
    let sandbox = Sandbox::new();
    let script = format!(r#"echo '{{"type":"usage","usage":{{"costUsd":0.75}}}}'; {HANG}"#);
    sandbox.install(&Script::jsonl(&script));
    let finished = sandbox.looping(["--max-cost-usd", "0.5"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&cancelled(CancelReason::MaxCost)]);
}

#[test]
fn the_calls_of_an_hour_are_waited_for_and_can_be_stopped_while_they_are() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let running = sandbox.looping(["--calls-per-hour", "1"]).start();
    let waiting = running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::WaitStarted {
                wait: Wait::CallBudget,
                ..
            }
        )
    });
    let Event::WaitStarted { until_ms, .. } = waiting.event else {
        panic!("no wait")
    };
    let hour_ms = u64::try_from(Duration::from_secs(3600).as_millis()).unwrap();
    assert!(until_ms <= waiting.at_ms + hour_ms && until_ms > waiting.at_ms);
    let stopped = sandbox.ralph(["stop"]).run(SOON);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    assert_eq!(running.wait(SOON).code(), Some(130));
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
    sandbox.install(&Script::jsonl(": > $HOME/hang; over done"));
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_LIMITS_PHASE_TIMEOUT", "6s")
        .run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let records = finished.records();
    let StopReason::Broken { why } = reason(&records) else {
        panic!("{:?}", reason(&records))
    };
    assert!(
        why.contains("the result of iteration 1") && why.contains("took longer than 6 s"),
        "{why}"
    );
    assert!(why.contains("limits.phaseTimeout"), "{why}");
}

#[test]
fn the_calls_of_an_hour_count_over_the_runs_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.plan(4);
    sandbox.install(&Script::worker());
    let looping = |iterations| sandbox.looping(["--calls-per-hour", "2", "--max-iterations", iterations]);
    for _ in 0..2 {
        assert_eq!(looping("1").run(SOON).code(), Some(6));
    }
    let running = looping("1").start();
    let waits = |event: &Event| matches!(event, Event::WaitStarted { wait, .. } if *wait == Wait::CallBudget);
    let waiting = running.wait_for_record(SOON, waits);
    let Event::WaitStarted { until_ms, .. } = waiting.event else {
        panic!("no wait")
    };
    assert!(until_ms > waiting.at_ms && until_ms <= waiting.at_ms + 3_600_000);
    running.signal(Signal::SIGINT);
    let records = running.wait(SOON).records();
    assert!(outcomes(&records).is_empty(), "{records:#?}");
}
