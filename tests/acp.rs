//! `ralph acp`, driven by public clients of the Agent Client Protocol: acpx, and a client on the protocol's own library.

use std::{collections::HashMap, fs, os::unix::fs::symlink, path::PathBuf};

use ralph_core::testing::acp::{SCHEMA, Side, flaw};
use serde_json::{Value, json};

use crate::{
    bad_input::asking::asking,
    harness::{Program, SOON, Sandbox, Script, languages::node_modules, running::Finished, wait_until},
};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

fn packages() -> Option<PathBuf> {
    node_modules(include_str!("acp/package.json"))
}

/// The client on the protocol's library, with these prompts. Its runs get the options `run` after the agent's.
fn client(sandbox: &Sandbox, packages: &std::path::Path, prompts: &[&str], run: &[&str]) -> Program {
    let home = sandbox.home();
    let modules = home.join("node_modules");
    if !modules.exists() {
        symlink(packages.join("node_modules"), &modules).expect("a link");
    }
    fs::write(home.join("client.mjs"), include_str!("acp/client.mjs")).expect("written");
    sandbox
        .program("node")
        .arg(home.join("client.mjs"))
        .args([RALPH, "acp", "--adapter", "script", "--trust-project"])
        .args(run)
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .env("RALPH_BACKOFF_BASE", "10ms")
        .env("PROMPTS", json!(prompts).to_string())
}

/// Returns the lines that the client printed: kind and value of each. Compares the messages of ralph among them with the
/// schema of the protocol.
fn told(client: &Finished) -> Vec<(&str, Value)> {
    assert_eq!(client.code(), Some(0), "{client:?}");
    let pair = |line| -> Option<(&str, Value)> {
        let (kind, value) = str::split_once(line, ' ')?;
        Some((kind, serde_json::from_str(value).ok()?))
    };
    let told: Vec<_> = client.stdout.lines().filter_map(pair).collect();
    let mut asked = HashMap::new();
    for (kind, message) in &told {
        let method = message["method"].as_str();
        match (*kind, method) {
            ("written", Some(method)) => _ = asked.insert(message["id"].to_string(), method),
            ("read", Some(_)) => assert_eq!(flaw(Side::Agent, message, None), None, "{message}"),
            ("read", None) => {
                let asked = asked.get(&message["id"].to_string()).expect("a request");
                assert_eq!(flaw(Side::Agent, message, Some(asked)), None, "{message}");
            }
            _ => {}
        }
    }
    assert!(!asked.is_empty(), "{told:#?}");
    told
}

fn all_of(told: &[(&str, Value)], wanted: &str) -> Vec<Value> {
    let of_kind = told.iter().filter(|(kind, _)| *kind == wanted);
    of_kind.map(|(_, value)| value.clone()).collect()
}

fn text_of(told: &[(&str, Value)]) -> String {
    let texts = all_of(told, "agent_message_chunk");
    texts.iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_schema_of_the_tests_is_that_of_the_library() {
    let Some(packages) = packages() else { return };
    let path = packages.join("node_modules/@agentclientprotocol/sdk/schema/v1/schema.json");
    let published = fs::read_to_string(&path).expect("a schema");
    assert!(published == SCHEMA, "{} belongs in tests/fixtures/acp", path.display());
}

#[test]
fn whatever_an_editor_sends_has_an_answer_that_says_what_is_wrong() {
    let sandbox = Sandbox::without_git();
    let long = format!(
        r#"{{"id":9,"method":"initialize","params":"{}"}}"#,
        "x".repeat(17 << 20)
    );
    let huge = format!(r#"{{"id":"{}","method":"initialize"}}"#, "i".repeat(1 << 20));
    let lines = [
        "rubbish",
        r#"[{"id":1,"method":"initialize"}]"#,
        r#"{"id":12345678901234567890123,"method":"initialize"}"#,
        r#"{"id":null,"method":"initialize"}"#,
        &long,
        &huge,
        r#"{"method":"session/unknown"}"#,
        r#"{"id":7,"result":{}}"#,
        "",
        r#"{"id":2,"method":"initialize","params":{"protocolVersion":99}}"#,
        r#"{"id":3,"method":"session/fly"}"#,
        r#"{"id":4,"method":"initia"#,
    ];
    sandbox.write("lines", &lines.join("\n"));
    let served = sandbox
        .ralph(["acp"])
        .stdin_from(&sandbox.project().join("lines"))
        .run(SOON);
    assert_eq!(served.code(), Some(0), "{}", served.stderr);
    let answers: Vec<Value> = served
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for answer in &answers {
        let asked = answer.get("result").map(|_| "initialize");
        assert_eq!(flaw(Side::Agent, answer, asked), None);
    }
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    let (parse, invalid, unknown) = (Some(-32700), Some(-32600), Some(-32601));
    assert_eq!(
        codes,
        [parse, invalid, invalid, invalid, invalid, None, None, unknown, parse]
    );
    assert_eq!(answers[5]["id"].as_str().map(str::len), Some(1 << 20));
    assert_eq!(
        (&answers[6]["id"], &answers[6]["result"]["protocolVersion"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn a_client_works_a_plan_answers_a_request_and_reads_the_verdict() {
    let Some(packages) = packages() else { return };
    let (sandbox, _) = asking(
        r#"{ "ask": ["Bash"] }"#,
        "asks 'git tag one' one\nasks 'rm precious' two\nworks\n",
    );
    let plan = format!("file://{}", sandbox.project().join("PLAN.md").display());
    let client = client(&sandbox, &packages, &[&plan], &["--goal", "ok=true"]);
    let finished = client.env("CHOICES", r#"["allow", "deny"]"#).run(SOON);
    let told = told(&finished);
    assert_eq!(all_of(&told, "agent"), ["ralph"]);
    let refused = all_of(&told, "refused");
    assert_eq!(refused[0], "`cwd` has to be the absolute path of a project");
    assert!(
        refused[1]
            .as_str()
            .is_some_and(|why| why.starts_with("/does/not/exist: ")),
        "{refused:?}"
    );
    let offered = ["allow", "allow-in-run", "deny"];
    let asked = [
        json!(["Bash: git tag one", offered]),
        json!(["Bash: rm precious", offered]),
    ];
    assert_eq!(all_of(&told, "asked"), asked, "{told:#?}");
    let plans = all_of(&told, "plan");
    let states = |plan: &Value| plan[0]["status"].clone();
    assert_eq!(
        plans.iter().map(states).collect::<Vec<_>>(),
        ["in_progress", "completed"]
    );
    let text = text_of(&told);
    for part in [
        "the MCP servers of this editor are not passed on",
        "▶ iteration 1",
        "goal ok passed",
        "ralph: done (passed)",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert_eq!(all_of(&told, "stopped"), [json!(["end_turn", "done (passed)"])]);
    let answers = fs::read_to_string(sandbox.home().join("answers")).expect("answers");
    let answers: Vec<bool> = answers.lines().map(|line| line.contains(r#""allow""#)).collect();
    assert_eq!(answers, [true, false]);
    sandbox.assert_nothing_runs();
}

/// Asks two questions at once, which no list of options can answer.
const QUESTIONS: &str = r#"
printf '{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","callback_id":"before","tool_use_id":"q","input":{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which name?","header":"Name","multiSelect":false,"options":[{"label":"a","description":""}]},{"question":"Which size?","header":"Size","multiSelect":false,"options":[{"label":"S","description":""}]}]}}}}\n'
read -r answer; printf '%s\n' "$answer" >> "$HOME/answers"
works
"#;

#[test]
fn the_reply_to_a_question_in_words_is_its_answer_and_the_run_goes_on() {
    let Some(packages) = packages() else { return };
    let (sandbox, _) = asking(r#"{ "ask": ["Bash"] }"#, QUESTIONS);
    let prompts = ["/plan PLAN.md", "whatever fits"];
    let finished = client(&sandbox, &packages, &prompts, &["--goal", "ok=true"]).run(SOON);
    let told = told(&finished);
    let text = text_of(&told);
    assert!(
        text.contains("Which name?\nWhich size?\n\nThe agent waits for your answer"),
        "{text}"
    );
    let stopped = [json!(["end_turn", null]), json!(["end_turn", "done (passed)"])];
    assert_eq!(all_of(&told, "stopped"), stopped, "{told:#?}");
    let answers = fs::read_to_string(sandbox.home().join("answers")).expect("answers");
    assert_eq!(answers.matches("whatever fits").count(), 2, "{answers}");
    sandbox.assert_nothing_runs();
}

/// Sleeps in the first session, and works in the next.
const SLEEPS_ONCE: &str = r#"
[ -e "$HOME/slept" ] && { works; exit; }
touch "$HOME/slept"
echo '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I sleep now."}]}}'
exec sleep 300
"#;

#[test]
fn a_cancelled_turn_stops_its_run_and_the_next_prompt_continues_it() {
    let Some(packages) = packages() else { return };
    let (sandbox, _) = asking(r#"{ "deny": ["Bash(rm *)"] }"#, SLEEPS_ONCE);
    let prompts = ["/plan PLAN.md", "/continue"];
    let client = client(&sandbox, &packages, &prompts, &["--goal", "ok=true"]);
    let finished = client.env("CANCEL_AT", "I sleep now.").run(SOON);
    let told = told(&finished);
    let stopped = [
        json!(["cancelled", "stopped by user"]),
        json!(["end_turn", "done (passed)"]),
    ];
    assert_eq!(all_of(&told, "stopped"), stopped, "{told:#?}");
    assert_eq!(
        text_of(&told).matches("▶ iteration 1").count(),
        1,
        "what was shown is not repeated"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_client_that_leaves_takes_its_run_with_it() {
    let Some(packages) = packages() else { return };
    let (sandbox, _) = asking(r#"{ "deny": ["Bash(rm *)"] }"#, "exec sleep 300\n");
    let client = client(&sandbox, &packages, &["/plan PLAN.md"], &[]);
    let finished = client.env("LEAVE_AT", "iteration 1:").run(SOON);
    let told = told(&finished);
    assert_eq!(all_of(&told, "exit"), [json!(0)], "{told:#?}");
    wait_until(SOON, "the end of the run", || {
        sandbox.processes().is_empty().then_some(())
    });
    sandbox.assert_nothing_runs();
}

#[test]
fn what_the_command_line_refuses_is_refused_in_its_words() {
    let Some(packages) = packages() else { return };
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("exit 1"));
    let prompts = ["/plan MISSING.md", "   ", "/continue"];
    let finished = client(&sandbox, &packages, &prompts, &[]).run(SOON);
    let told = told(&finished);
    let refused = all_of(&told, "refused");
    assert!(
        refused[2].as_str().is_some_and(|why| why.contains("MISSING.md")),
        "{refused:?}"
    );
    assert_eq!(refused[3], "the prompt has no text");
    assert!(
        refused[4].as_str().is_some_and(|why| why.starts_with("error: ")),
        "{refused:?}"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn acpx_works_a_plan() {
    let Some(packages) = packages() else { return };
    let (sandbox, _) = asking(r#"{ "ask": ["Bash"] }"#, "asks 'git tag one' one\nworks\n");
    let agent = format!("{RALPH} acp --adapter script --trust-project --goal ok=true");
    let acpx = sandbox
        .program("node")
        .arg(packages.join("node_modules/acpx/dist/cli.js"));
    let finished = acpx
        .args(["--agent", &agent, "--approve-all", "exec", "/plan PLAN.md"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for part in ["▶ iteration 1", "ralph: done (passed)", "[done] end_turn"] {
        assert!(finished.stdout.contains(part), "`{part}` is not in {}", finished.stdout);
    }
    let answers = fs::read_to_string(sandbox.home().join("answers")).expect("answers");
    assert!(answers.contains(r#""allow""#), "{answers}");
    sandbox.assert_nothing_runs();
}
