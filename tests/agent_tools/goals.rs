//! Goals run for the agent, in real processes.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::harness::{SOON, Sandbox, Script, running::Running, wait_until};

/// Starts a client that calls tools, given by name and arguments.
pub(super) fn begin(sandbox: &Sandbox, file: &str, calls: &[(&str, Value)]) -> Running {
    let mut lines = r#"{"id":0,"method":"initialize","params":{}}"#.to_owned();
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        let call = json!({"id": id + 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        lines += &format!("\n{call}");
    }
    let path = sandbox.home().join(file);
    fs::write(&path, lines).expect("the client's lines");
    sandbox.ralph(["mcp"]).stdin_from(&path).start()
}

/// The answers of the tools in the order of the calls, each with whether it was a refusal.
pub(super) fn answers(client: Running) -> Vec<(String, bool)> {
    let served = client.wait(SOON);
    assert_eq!(served.code(), Some(0), "{}", served.stderr);
    let answers = served.stdout.lines().skip(1);
    let mut answers: Vec<Value> = answers.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let said = |answer: &Value| {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        (text.to_owned(), result["isError"] == true)
    };
    answers.iter().map(said).collect()
}

#[test]
fn goals_run_for_the_agent_and_for_the_gate_never_at_once_and_a_ticket_has_what_came_of_them() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    // Goals of the gate run on a copy of the project, in which nothing is seen of a file that comes or goes here.
    let outside = tempfile::tempdir().expect("a directory");
    let [pid, overlap, begun, hold] = ["pid", "overlap", "begun", "hold"].map(|name| outside.path().join(name));
    let goal = format!(
        "g=cd {}; [ -e pid ] && kill -0 $(cat pid) 2>/dev/null && touch overlap; echo $$ > pid; touch begun; \
         while [ -e hold ]; do sleep 0.02; done; cd \"$OLDPWD\" && test -e pass",
        outside.path().display()
    );
    let running = sandbox.looping(["--goal", &goal]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    let check = || ("goals_check", json!({}));
    let failed = answers(begin(&sandbox, "failed", &[check()]));
    assert!(failed[0].0.contains("g failed") && !failed[0].1, "{failed:?}");
    let again = answers(begin(
        &sandbox,
        "again",
        &[
            ("goals_check", json!({"ticket": 1})),
            ("goals_check", json!({"ticket": 7})),
        ],
    ));
    assert!(again[0] == failed[0] && again[1].1, "{again:?}");
    sandbox.write("pass", "");
    let both = answers(begin(&sandbox, "both", &[check(), check()]));
    assert!(
        both[0] == both[1] && both[0].0.contains("1 of 1 goal passed"),
        "{both:?}"
    );
    // A goal that still runs when the turn ends is ended, and the gate's own run starts after it.
    fs::remove_file(&begun).expect("what the goal left");
    fs::write(&hold, "").expect("the hold");
    let cut = begin(&sandbox, "cut", &[check()]);
    let is_there = |path: &Path| path.exists().then_some(());
    wait_until(SOON, "a goal", || is_there(&begun));
    sandbox.release("go");
    let cut = answers(cut);
    assert!(cut[0].1 && cut[0].0.contains("session has ended"), "{cut:?}");
    fs::remove_file(&hold).expect("the hold");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    assert!(is_there(&pid).is_some(), "goals could write nothing there");
    assert!(is_there(&overlap).is_none(), "two looks at the goals overlapped");
    let late = answers(begin(&sandbox, "late", &[check()]));
    assert!(late[0].1 && late[0].0.contains("is over"), "{late:?}");
}

#[test]
fn a_claim_with_a_tick_runs_the_check_of_its_task() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] One {check=\"test -e one\"}\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl("said ready; await go; over done"));
    let running = sandbox.looping(["--trust-project"]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    sandbox.write("PLAN.md", "- [x] One {check=\"test -e one\"}\n");
    let claim = || ("claim_done", json!({}));
    let early = answers(begin(&sandbox, "early", &[claim()]));
    assert!(early[0].1 && early[0].0.contains("test -e one"), "{early:?}");
    sandbox.write("one", "");
    let late = answers(begin(&sandbox, "late", &[claim()]));
    assert!(!late[0].1, "{late:?}");
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}
