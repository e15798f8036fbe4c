//! `ralph mcp` as a client of the Model Context Protocol sees it, on its own and without a run.

use serde_json::Value;

use crate::harness::{SOON, Sandbox};

#[test]
fn whatever_a_client_sends_has_one_answer_and_the_end_of_its_input_ends_the_server() {
    let sandbox = Sandbox::without_git();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    let long = format!(
        "{{\"id\":9,\"method\":\"ping\",\"params\":\"{}\"}}",
        "x".repeat(50 << 20)
    );
    let calls = [
        r#"{"id":2,"method":"tools/call","params":{"name":"plan"}}"#,
        r#"{"id":3,"method":"tools/call","params":{"name":"progress","arguments":{"note":7}}}"#,
        r#"{"id":4,"method":"tools/call","params":{"name":"stop"}}"#,
        "half a line",
    ];
    let before = [
        "rubbish",
        r#"{"id":5,"method":"server/discover"}"#,
        r#"{"id":12345678901234567890123,"method":"ping"}"#,
    ];
    let lines = [&before[..], &[hello, &long], &calls].concat().join("\n");
    sandbox.write("lines", &lines);
    let mcp = [
        "mcp",
        "--socket",
        "/nowhere/control.sock",
        "--run",
        "r",
        "--without",
        "task_add",
    ];
    let served = sandbox
        .ralph(mcp)
        .stdin_from(&sandbox.project().join("lines"))
        .run(SOON);
    assert_eq!(served.code(), Some(0), "{}", served.stderr);
    let answers: Vec<Value> = served
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |id: u64| {
        let mut found = answers.iter().filter(|answer| answer["id"] == id);
        let answer = found.next().unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"));
        assert!(found.next().is_none(), "two answers to {id}");
        answer
    };
    assert_eq!(answers.len(), 9, "{answers:?}");
    assert_eq!(of(1)["result"]["protocolVersion"], "2025-06-18");
    for (id, why) in [(2, "is over"), (3, "expected a string")] {
        let result = &of(id)["result"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(result["isError"] == true && text.contains(why), "{text}");
    }
    let unknown = of(4)["error"]["message"].as_str().expect("a message");
    assert!(
        unknown.contains("goals_check") && !unknown.contains("task_add"),
        "{unknown}"
    );
    let codes: Vec<i64> = answers
        .iter()
        .filter_map(|answer| answer["error"]["code"].as_i64())
        .collect();
    assert_eq!(
        codes.iter().filter(|code| **code == -32700).count(),
        2,
        "rubbish and half a line"
    );
    assert_eq!(of(5)["error"]["code"], -32601, "as of a method that no version has");
    assert_eq!(
        codes.iter().filter(|code| **code == -32600).count(),
        2,
        "the line of 50 MB, and a number that is read inexactly"
    );
}
