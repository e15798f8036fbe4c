//! Runs the examples of docs/api.md unchanged against one run.

use std::{fs, path::Path};

use ralph_core::event::{AskEvent, Event, SteeringEvent};

use crate::{
    bad_input::asking,
    harness::{Program, SOON, events, skipped},
};

/// The code of the only example in `language`.
fn example(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api.md");
    let text = fs::read_to_string(path).expect("the document");
    let (_, code) = text.split_once(&format!("\n```{language}\n")).expect("an example");
    code.split_once("\n```").expect("its end").0.to_owned()
}

/// The URL that the run announces.
fn listening(event: &Event) -> Option<String> {
    let notice = event.notice().filter(|notice| notice.code == "listening")?;
    Some(notice.data["url"].to_string())
}

#[test]
fn the_examples_of_the_api_run_as_they_stand_and_do_what_they_say() {
    for interpreter in ["curl", "node", "python3"] {
        if which::which(interpreter).is_err() {
            return skipped(&format!("the examples of the API: {interpreter} is not installed"));
        }
    }
    // Each question waits for its answer. Only the Python example answers the last one.
    let (sandbox, _) = asking::asking(
        r#"{ "ask": ["Bash"] }"#,
        r#"
asks "date" 1
asks "git status" 2
asks "rm precious" 3
works
"#,
    );
    let run = sandbox
        .ralph([
            "--adapter",
            "script",
            "--headless",
            "--format",
            "jsonl",
            "--listen",
            "127.0.0.1:0",
        ])
        .start();
    let asked = |number: u32| {
        run.wait_for_record(
            SOON,
            |event| matches!(event, Event::Ask(AskEvent::Asked { ask }) if ask.number == number),
        );
    };
    asked(1);
    let base = run.wait_for_record(SOON, |event| listening(event).is_some());
    let base = listening(&base.event).expect("an address");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["listen"], base.as_str());
    let token = sandbox.ralph(["token"]).run(SOON).stdout.trim().to_owned();
    let run_example = |program: Program| program.env("RALPH", &base).env("TOKEN", &token).start();

    let curl = run_example(sandbox.program("sh").args(["-ec", &example("sh")]));
    asked(2);
    let node = run_example(
        sandbox
            .program("node")
            .args(["--input-type=module", "--eval", &example("js")]),
    );
    node.wait_for_line(SOON, |line| line.contains("message"));
    let python = run_example(sandbox.program("python3").args(["-c", &example("python")]));

    let finished = run.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let (curl, node, python) = (curl.wait(SOON), node.wait(SOON), python.wait(SOON));
    for done in [&curl, &node, &python] {
        assert_eq!(done.code(), Some(0), "{done:?}");
    }
    assert!(curl.stdout.contains("event: over"), "{curl:?}");
    assert!(node.stdout.contains("iteration 1 took "), "{node:?}");
    assert!(python.stdout.contains("iteration 1\n"), "{python:?}");
    let records = sandbox.journal();
    let decided: Vec<(bool, bool)> = events(&records)
        .filter_map(|event| match event {
            Event::Ask(AskEvent::Answered { answered }) => Some((answered.allowed()?, answered.by.is_user())),
            _ => None,
        })
        .collect();
    // Messages that arrive while the agent works start another iteration.
    assert_eq!(decided[..3], [(true, true), (true, true), (false, true)]);
    let steered = events(&records).filter(|event| matches!(event, Event::Steering(SteeringEvent::Queued { .. })));
    assert_eq!(steered.count(), 3);
}
