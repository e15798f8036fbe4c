//! Adapters that stand in while the first one is limited.

use ralph::event::{Event, Record, StopReason, Wait, WaitEnd};

use super::{notices, reason, said, started};
use crate::harness::{Program, SOON, Sandbox, Script, events, running::Running};

const HOUR_MS: u64 = 60 * 60 * 1000;

/// Fails because of a limit that ends so many milliseconds from now.
fn limited_for(ms: u64) -> String {
    format!(r#"failed "{{\"kind\":\"quota-exhausted\",\"untilMs\":$(($(date +%s%N) / 1000000 + {ms}))}}" 'no more'"#)
}

/// A loop with the adapters `script`, `second` and, if it is installed, `third`.
fn looping(sandbox: &Sandbox) -> Program {
    sandbox.looping([] as [&str; 0]).env("RALPH_FALLBACK", "second,third")
}

fn sandbox(first: &str, second: &str, third: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(first));
    sandbox.install_as("second", &Script::jsonl(second));
    sandbox.install_as("third", &Script::jsonl(third));
    sandbox
}

/// The adapter of each iteration, in order.
fn adapters(records: &[Record]) -> Vec<&str> {
    events(records)
        .filter_map(|event| match event {
            Event::IterationStarted { adapter, .. } => Some(adapter.as_str()),
            _ => None,
        })
        .collect()
}

fn killed_when(running: Running, seen: impl Fn(&Event) -> bool) {
    running.wait_for_record(SOON, seen);
    running.kill();
    running.wait(SOON);
}

#[test]
fn the_next_adapter_works_while_the_first_is_limited_and_leaves_when_it_is_back() {
    let sandbox = sandbox(
        &format!("if [ $n = 1 ]; then {}; else work; over done; fi", limited_for(500)),
        // A second is added for clocks that differ.
        r#""$FAKE_AGENT" 'sleep 2000'; work; over done"#,
        "exit 1",
    );
    let finished = looping(&sandbox).args(["--max-iterations", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(adapters(&records), ["script", "second", "script"]);
    assert!(
        !events(&records).any(|event| matches!(event, Event::WaitStarted { .. })),
        "nobody had to wait"
    );
    assert_eq!(notices(&records), ["going on with second", "going on with script"]);
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("after iteration 1: script was limited for "),
        "{report}"
    );
    assert!(report.contains("(second)"), "{report}");
}

#[test]
fn who_is_limited_is_known_after_a_restart_and_so_is_when_it_is_over() {
    let sandbox = sandbox(
        &format!("if [ $n = 1 ]; then {}; else work; over done; fi", limited_for(HOUR_MS)),
        "[ $n = 2 ] && { work; over done; exit; }; said ready; await never",
        "exit 1",
    );
    killed_when(looping(&sandbox).start(), said("ready"));
    killed_when(looping(&sandbox).start(), started(4));
    assert_eq!(adapters(&sandbox.journal()), ["script", "second", "second", "second"]);
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("second") && status.contains("script is limited for"),
        "{status}"
    );
    // As if it had been killed some hours ago.
    let aged: String = sandbox
        .journal()
        .into_iter()
        .map(|mut record| {
            record.at_ms -= 3 * HOUR_MS;
            if let Event::AdapterLimited { until_ms, .. } = &mut record.event {
                *until_ms -= 3 * HOUR_MS;
            }
            serde_json::to_string(&record).unwrap() + "\n"
        })
        .collect();
    std::fs::write(sandbox.the_run().journal(), aged).unwrap();
    let finished = looping(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(adapters(&finished.records()), ["script"]);
}

#[test]
fn when_all_are_limited_the_first_that_is_back_is_waited_for_and_a_retry_asks_the_first() {
    let sandbox = sandbox(
        &format!(
            "if [ $n = 1 ]; then {}; else work; over done; fi",
            limited_for(3 * HOUR_MS)
        ),
        &limited_for(HOUR_MS),
        &limited_for(2 * HOUR_MS),
    );
    sandbox.plan(1);
    let running = looping(&sandbox).start();
    let waiting = running.wait_for_record(SOON, |event| matches!(event, Event::WaitStarted { .. }));
    let Event::WaitStarted { wait, until_ms, .. } = waiting.event else {
        panic!("no wait")
    };
    assert_eq!(wait, Wait::LimitReset);
    let left_ms = until_ms - waiting.at_ms;
    assert!((HOUR_MS / 2..HOUR_MS + HOUR_MS / 2).contains(&left_ms), "{left_ms}");
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("waiting for the agent's limit to reset"), "{status}");
    assert!(
        status.contains("left      1h00m") || status.contains("left      59m"),
        "{status}"
    );
    assert_eq!(sandbox.ralph(["resume", "--now"]).run(SOON).code(), Some(0));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(adapters(&records), ["script", "second", "third", "script"]);
    let cause = WaitEnd::RetriedNow;
    assert!(events(&records).any(|event| *event == Event::WaitEnded { cause }));
    assert_eq!(*reason(&records), StopReason::Done { verified: false });
}
