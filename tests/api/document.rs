//! Compares the API document with the answers of a run.

use std::{fs, net::SocketAddr, path::Path};

use ralph_core::testing::json_schema::mismatch;
use serde_json::Value;

use super::http::{address, answer_head, connect, send, token};
use crate::harness::{SOON, Sandbox, Script};

fn committed() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the document")).expect("JSON")
}

/// The route of the run itself that `path` repeats below `/runs/{id}`; else `path`.
fn of_run(path: &str) -> &str {
    let repeated = path.strip_prefix("/runs/{id}");
    repeated.filter(|route| !route.is_empty()).unwrap_or(path)
}

/// The body that is sent to a route, and the status expected from a run whose agent asks nothing.
fn sent_to(method: &str, path: &str) -> (&'static str, u16) {
    match of_run(path) {
        // Only `ralph web` knows of batches, and starts anything.
        "/start" | "/batches" | "/batches/{id}" | "/batches/{id}/resume" => ("", 404),
        "/runs" if method == "post" => (r#"{"project":"/"}"#, 405),
        // Only the socket may start programs.
        "/tasks" if method == "post" => (r#"{"command":"true"}"#, 403),
        "/asks/{n}" => (r#"{"type":"allow"}"#, 409),
        "/commands" if path == "/commands" => (r#"{"type":"pause"}"#, 200),
        "/commands" => (r#"{"type":"resume"}"#, 200),
        // The task is cancelled already, by the route that this one repeats.
        "/tasks/{n}/cancel" if path != "/tasks/{n}/cancel" => ("", 409),
        "/prompt" => (r#"{"text":"use tabs"}"#, 200),
        "/plan/file" if method == "post" => (r#"{"type":"add","task":"Write more"}"#, 200),
        "/tools" => (r#"{"run":"another","call":{"tool":"plan"}}"#, 200),
        "/terminal/size" => (r#"{"cols":80,"rows":24}"#, 204),
        "/terminal/input" | "/personal/{what}" | "/sessions/{n}/end" | "/logout" => ("", 204),
        _ => ("", 200),
    }
}

/// Calls an operation, checks its answer against the document and returns the status.
#[track_caller]
fn called(at: SocketAddr, known: &str, document: &Value, method: &str, path: &str, described: &Value) -> u16 {
    let run = send(at, &format!("GET /run HTTP/1.1\n{known}"), "");
    let run: Value = serde_json::from_str(&run.body).expect("JSON");
    let id = match path.starts_with("/runs/") {
        true => run["run"].as_str().expect("an id"),
        false => "1",
    };
    let real = path.replace("{id}", id).replace("{n}", "1").replace("{what}", "trust");
    let (body, status) = sent_to(method, path);
    let request = format!("{} {real} HTTP/1.1\n{known}", method.to_uppercase());
    let good = described["responses"]
        .as_object()
        .expect("answers")
        .iter()
        .find(|(code, _)| *code != "default");
    let (code, good) = good.expect("a good answer");
    let kinds = good["content"].as_object();
    let kind = kinds.map(|kinds| kinds.keys().next().expect("a kind").as_str());
    if matches!(kind, Some("text/event-stream" | "application/octet-stream")) {
        // The stream lasts as long as the run.
        let mut stream = connect(at);
        let head = answer_head(&mut stream, &request);
        assert!(
            head.starts_with("http/1.1 200") && head.contains(kind.expect("one")),
            "{method} {path}: {head}"
        );
        return 200;
    }
    let answer = send(at, &request, body);
    assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    if answer.status >= 400 {
        let problem = serde_json::from_str(&answer.body).expect("JSON");
        let schema = &document["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"];
        assert_eq!(mismatch(document, schema, &problem, "problem"), None, "{path}");
        return answer.status;
    }
    assert_eq!(answer.status.to_string(), *code, "{method} {path}");
    assert_eq!(answer.header("content-type"), kind, "{method} {path}");
    if kind == Some("application/json") {
        let value = serde_json::from_str(&answer.body).expect("JSON");
        let schema = &good["content"]["application/json"]["schema"];
        assert_eq!(mismatch(document, schema, &value, path), None, "{method} {path}");
    }
    answer.status
}

#[test]
fn every_route_of_the_document_is_there_and_answers_as_it_says() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    sandbox.plan(2);
    let running = sandbox.looping(["--listen", "127.0.0.1:0"]).start();
    let at = address(&running);
    let known = format!("host: {at}\nauthorization: Bearer {}", token(&sandbox, &[]));
    running.wait_for_line(SOON, |line| line.contains("ready"));
    let started = sandbox.ralph(["tasks", "start", "sleep 600"]).run(SOON);
    assert_eq!(started.code(), Some(0), "{started:?}");
    let document = committed();
    let (mut calls, mut last) = (0, None);
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, described) in operations.as_object().expect("operations") {
            // `/cancel` is called last because it ends iteration 1. `/diff/{n}` is skipped: its changes are known only
            // after that.
            match of_run(path) {
                // The second call ends nothing, or the iteration after.
                "/cancel" if path != "/cancel" => {}
                "/cancel" => last = Some((method, path, described)),
                "/diff/{n}" => {}
                _ => _ = called(at, &known, &document, method, path, described),
            }
            calls += 1;
        }
    }
    assert!(calls > 45, "{calls} operations");
    // Every answer in JSON has a type.
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, described) in operations.as_object().expect("operations") {
            let json = &described["responses"]["200"]["content"]["application/json"];
            assert!(json.is_null() || json["schema"].is_object(), "{method} {path}: {json}");
        }
    }
    // The served document is the committed one, and undocumented routes are not served.
    let served = send(at, &format!("GET /doc HTTP/1.1\n{known}"), "");
    assert_eq!(serde_json::from_str::<Value>(&served.body).expect("JSON"), document);
    let unknown = send(at, &format!("GET /no-such-route HTTP/1.1\n{known}"), "");
    assert!(
        unknown.status == 404 && unknown.detail().contains("GET /doc"),
        "{unknown:?}"
    );
    let (method, path, described) = last.expect("it is described");
    assert_eq!(called(at, &known, &document, method, path, described), 200);
    sandbox.release("go");
    assert_eq!(sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    running.wait(SOON);
}
