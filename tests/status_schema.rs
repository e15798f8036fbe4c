//! The schema of the view (`RunView` of `docs/openapi.json`) against what `ralph status --json` prints.

use std::{fs, path::Path};

use ralph_core::testing::json_schema::mismatch;
use serde_json::Value;

use crate::{
    harness::{SOON, Sandbox, Script},
    journals::{RUNS, fixture, left_behind},
};

/// The document of the API.
fn committed() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the document")).expect("JSON")
}

/// The first place where a view is not as `document` describes it.
fn mismatch_of_view(document: &Value, view: &Value) -> Option<String> {
    mismatch(document, &document["components"]["schemas"]["RunView"], view, "view")
}

#[track_caller]
fn assert_described(sandbox: &Sandbox, what: &str) {
    let status = sandbox.ralph(["status", "--json"]).run(SOON);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!(mismatch_of_view(&committed(), &status["view"]), None, "{what}");
}

#[test]
fn the_schema_describes_the_status_of_a_run_that_runs_and_of_one_that_is_over() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping(["--goal", "tests=true"]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    assert_eq!(sandbox.ralph(["steer", "use tabs"]).run(SOON).code(), Some(0));
    assert_described(&sandbox, "a run that runs");
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
    assert_described(&sandbox, "a run that is over");
}

#[test]
fn the_schema_describes_every_recorded_run() {
    for (name, ..) in RUNS {
        assert_described(&left_behind(&fixture(name)), name);
    }
}

#[test]
fn what_the_schema_does_not_describe_is_found() {
    let document = committed();
    let sandbox = left_behind(&fixture("done"));
    let status = sandbox.ralph(["status", "--json"]).run(SOON);
    let mut status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let view = &mut status["view"];
    for (field, wrong) in [
        ("epoch", Value::from("one")),
        ("phase", Value::Null),
        ("news", Value::from(1)),
    ] {
        let mut view = view.clone();
        view[field] = wrong;
        assert!(mismatch_of_view(&document, &view).is_some(), "{field}");
    }
    view.as_object_mut().expect("a view").remove("clock");
    assert!(mismatch_of_view(&document, view).is_some());
}
