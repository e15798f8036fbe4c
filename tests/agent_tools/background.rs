//! Background tasks through the tools: the rules of `ralph tasks` apply, and every answer is short.

use ralph_core::event::{BackgroundEnd, BackgroundEvent, Event, Requester};
use serde_json::{Value, json};

use super::goals::{answers, begin};
use crate::harness::{SOON, Sandbox, Script, events};

/// The answer of one tool, and whether it was a refusal.
#[track_caller]
fn ask(sandbox: &Sandbox, tool: &str, arguments: Value) -> (String, bool) {
    let name = format!("background_{tool}");
    answers(begin(sandbox, "lines", &[(&name, arguments)])).remove(0)
}

fn ended(wanted: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Background(BackgroundEvent::Ended { number, .. }) if *number == wanted)
}

#[test]
fn an_agent_starts_a_task_reads_it_in_parts_and_cancels_it_and_not_the_users() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    assert!(ask(&sandbox, "status", json!({})).0.starts_with("No background task"));
    let (started, refused) = ask(&sandbox, "start", json!({"command": "exec sleep 600"}));
    assert!(!refused && started.contains("{\"number\": 1}"), "{started}");
    ask(&sandbox, "start", json!({"command": "seq 20000; exit 3"}));
    running.wait_for_record(SOON, ended(2));

    let (tail, _) = ask(&sandbox, "output", json!({"number": 2}));
    assert!(
        tail.contains("exit code 3 after") && tail.ends_with("\n20000\n"),
        "{tail}"
    );
    assert!(tail.len() < 9 * 1024, "{}", tail.len());
    let (part, _) = ask(&sandbox, "output", json!({"number": 2, "from": 0}));
    assert!(
        part.contains("{\"number\": 2, \"from\": 8192} reads on:\n1\n2\n"),
        "{part}"
    );
    let (rest, _) = ask(&sandbox, "output", json!({"number": 2, "from": 1_u64 << 40}));
    assert!(rest.contains("no output after byte"), "{rest}");

    let by_user = sandbox.ralph(["tasks", "start", "exec sleep 600"]).run(SOON);
    assert_eq!(by_user.code(), Some(0), "{by_user:?}");
    let (status, _) = ask(&sandbox, "status", json!({}));
    assert!(
        status.contains("Task 2 (exit code 3 after") && status.contains("last line: 20000"),
        "{status}"
    );
    assert!(
        status.contains("Task 3 (running for") && status.contains("started by the user"),
        "{status}"
    );
    let (one, _) = ask(&sandbox, "status", json!({"number": 3}));
    assert!(one.lines().count() == 1 && one.starts_with("Task 3"), "{one}");
    ask(&sandbox, "start", json!({"command": "exec sleep 600"}));
    for (tool, arguments, why) in [
        (
            "start",
            json!({"command": "true"}),
            "at most 3 background tasks run at a time",
        ),
        ("start", json!({"command": " "}), "is empty"),
        ("output", json!({"number": 9}), "no background task 9"),
        ("cancel", json!({"number": 3}), "is the user's"),
    ] {
        let (text, refused) = ask(&sandbox, tool, arguments);
        assert!(refused && text.contains(why), "{text}");
    }
    assert!(!ask(&sandbox, "cancel", json!({"number": 1})).1);
    running.wait_for_record(SOON, ended(1));
    assert!(ask(&sandbox, "cancel", json!({"number": 1})).1);
    sandbox.release("go");
    let finished = running.wait(SOON);
    let records = finished.records();
    let of_agent = |event: &&Event| {
        let by = Requester::Agent;
        matches!(event, Event::Background(BackgroundEvent::Started { by: whose, .. }) if *whose == by)
    };
    assert_eq!(events(&records).filter(of_agent).count(), 3);
    let cancelled = |event: &Event| matches!(event, Event::Background(BackgroundEvent::Ended { number: 1, result }) if result.end == BackgroundEnd::Cancelled);
    assert!(events(&records).any(cancelled));
    sandbox.assert_nothing_runs();
}

#[test]
fn tasks_that_are_the_users_alone_are_read_by_an_agent_and_not_started() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; over done"));
    let running = sandbox
        .looping(["-n", "1"])
        .env("RALPH_BACKGROUND_AGENTS", "false")
        .start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let (why, refused) = ask(&sandbox, "start", json!({"command": "true"}));
    assert!(refused && why.contains("background.agents"), "{why}");
    assert!(!ask(&sandbox, "status", json!({})).1);
    sandbox.release("go");
    running.wait(SOON);
}
