//! The schema of the view (`RunView` of `docs/openapi.json`) against what `ralph status --json` prints.

use std::{fs, path::Path};

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

/// The first place where `value` violates `schema`. Supports the keywords that the schema uses, and rejects parts
/// without a description.
pub fn mismatch(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let described = root.pointer(reference.trim_start_matches('#'));
        return mismatch(root, described.expect("a definition of this file"), value, at);
    }
    // The schema `true` accepts any value.
    if *schema == Value::Bool(true) {
        return None;
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let mut found = choices
                .iter()
                .map(|choice| mismatch(root, &with_properties_of(schema, choice), value, at));
            return match found.any(|mismatch| mismatch.is_none()) {
                true => None,
                false => Some(format!("{at}: none of {choice} describes {value}")),
            };
        }
    }
    let is_wrong = match (&schema["const"], schema["enum"].as_array()) {
        (Value::Null, None) => !has_type(&schema["type"], value),
        (Value::Null, Some(allowed)) => !allowed.contains(value),
        (constant, _) => constant != value,
    };
    if is_wrong {
        return Some(format!("{at}: {value} is not a {schema}"));
    }
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut absent = required.filter(|name| !fields.contains_key(name.as_str().expect("a name")));
            if let Some(absent) = absent.next() {
                return Some(format!("{at}: there is no {absent}"));
            }
            fields.iter().find_map(|(name, field)| {
                let at = format!("{at}.{name}");
                match (&schema["properties"][name], &schema["additionalProperties"]) {
                    (Value::Null, others @ (Value::Object(_) | Value::Bool(true))) => {
                        mismatch(root, others, field, &at)
                    }
                    (Value::Null, _) => Some(format!("{at}: is not described")),
                    (described, _) => mismatch(root, described, field, &at),
                }
            })
        }
        Value::Array(entries) => {
            let mut entries = entries.iter().enumerate();
            entries.find_map(|(n, entry)| mismatch(root, &schema["items"], entry, &format!("{at}[{n}]")))
        }
        _ => None,
    }
}

/// A choice with the properties that all choices of `schema` share.
fn with_properties_of(schema: &Value, choice: &Value) -> Value {
    let mut whole = choice.clone();
    for (name, described) in schema["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = described.clone();
    }
    whole
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |wanted: &Value| match wanted.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    };
    match wanted {
        Value::Array(any) => any.iter().any(is),
        one => is(one),
    }
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
