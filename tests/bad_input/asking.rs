//! Permission requests of an agent that misbehaves.

use std::fs;

use ralph_core::event::{AskEvent, CancelReason, Decider, Event, IterationEvent, Outcome, ProblemKind, Record};
use ralph_system::paths::ProjectPaths;

use super::output::assert_harmless;
use crate::{
    harness::{SOON, Sandbox, Script, events, wait_until},
    tui::watching,
};

/// An agent that speaks claude's protocol by running `$HOME/asking.sh`.
pub const CHANNEL: &str = "exec sh \"$HOME/asking.sh\"";

/// The beginning of every such script: it opens the conversation and defines shell functions.
const BEGINS: &str = r#"
read -r initialize; echo '{"type":"control_response","response":{"subtype":"success","request_id":"initialize"}}'; read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
# Asks to run what is in `$1`, and keeps the answer.
asks() {
    printf '{"type":"control_request","request_id":"%s","request":{"subtype":"hook_callback","callback_id":"before","tool_use_id":"%s","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"%s"}}}}\n' "$2" "$2" "$1"
    read -r answer; printf '%s\n' "$answer" >> "$HOME/answers"
}
works() {
    sed -i '0,/- \[ \]/s//- [x]/' PLAN.md; git add --all; git commit --quiet --message Work
    echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
}
"#;

/// A sandbox with one task, rules, and an agent that asks before every use of a tool.
pub fn asking(permissions: &str, script: &str) -> (Sandbox, Script) {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {permissions} }}"));
    fs::write(sandbox.home().join("asking.sh"), format!("{BEGINS}{script}")).expect("a script");
    let agent = Script::jsonl("exit 1").live_over("claude-stream-json", CHANNEL);
    sandbox.install(&agent);
    (sandbox, agent)
}

pub fn decided(records: &[Record]) -> Vec<(bool, Decider)> {
    events(records)
        .filter_map(|event| match event {
            Event::Ask(AskEvent::Answered { answered }) => Some((answered.allowed()?, answered.by.clone())),
            _ => None,
        })
        .collect()
}

/// The peak memory of process `pid`, in KiB.
fn peak(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.expect("its peak")
}

#[test]
fn an_agent_that_asks_ten_thousand_times_is_ended_and_neither_memory_nor_journal_nor_screen_suffer() {
    let flood = r#"
[ "$RALPH_ITERATION" = 1 ] || exec cat
i=0
while [ $i -lt 10000 ]; do
    i=$((i + 1))
    asks "echo $i" $i
done
"#;
    let (sandbox, agent) = asking(r#"{ "deny": ["Bash(rm *)"] }"#, flood);
    let mut terminal = watching(&sandbox, &agent);
    terminal.sees("iteration 1");
    let records = |least: usize| {
        wait_until(SOON, &format!("{least} decisions"), || {
            let records = sandbox.journal();
            (decided(&records).len() >= least).then_some(())
        });
    };
    records(200);
    let processes = [terminal.pid(), sandbox.loop_pid()];
    let early = processes.map(peak);
    terminal.press("?");
    terminal.sees("╭─ keys: ");
    terminal.press("?");
    terminal.sees("iteration 2");
    let late = processes.map(peak);
    let grew = early.iter().zip(late).any(|(early, late)| late >= early + 30 * 1024);
    assert!(!grew, "{early:?} KiB, then {late:?} KiB");
    let records = sandbox.journal();
    let flooded = events(&records).find_map(|event| match event {
        Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    assert!(
        matches!(&flooded, Some(Outcome::Failed { problem }) if problem.kind == ProblemKind::Flood),
        "{flooded:?}"
    );
    let count = decided(&records).len();
    assert_eq!(count, 2_000, "each was a record, and no more of them");
    let journal = fs::metadata(journal_of(&sandbox)).expect("a journal").len();
    assert!(journal < 4 << 20, "{journal} bytes");
    terminal.press("qy");
    terminal.ends();
    let report = sandbox.ralph(["report"]).run(SOON);
    assert!(
        report.code() == Some(0) && report.stdout.len() < 20_000 && report.stdout.contains("allowed"),
        "{report:?}"
    );
    sandbox.assert_nothing_runs();
}

fn journal_of(sandbox: &Sandbox) -> std::path::PathBuf {
    let paths: ProjectPaths = sandbox.paths();
    paths.run(&paths.latest_run().expect("a run")).journal()
}

#[test]
fn odd_requests_are_each_answered_and_the_agent_goes_on() {
    let odd = r#"
asks "echo $(head -c 1000000 /dev/zero | tr '\0' x)" long
asks "$(head -c 5000 /dev/zero | tr '\0' '(')" deep
asks "$(printf 'echo \377\376 x')" broken
# Too deep for any parser: it is no message, and has no answer.
printf '{"type":"control_request","request_id":"nested","request":%s\n' "$(head -c 20000 /dev/zero | tr '\0' '[')"
for malformed in '{"type":"control_request"}' '{"type":"control_request","request_id":7,"request":[]}'; do
    printf '%s\n' "$malformed"
    read -r answer; printf '%s\n' "$answer" >> "$HOME/refusals"
done
echo '{"type":"control_cancel_request"}'
echo '{"type":"control_response","response":7}'
works
"#;
    let (sandbox, _) = asking(r#"{ "deny": ["Bash(rm *)"], "timeout": "200ms" }"#, odd);
    let finished = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_harmless(&finished.stdout);
    let records = sandbox.journal();
    let by: Vec<_> = decided(&records);
    assert_eq!(by.len(), 3, "{by:?}");
    assert_eq!(by[..2], [(false, Decider::Deadline), (false, Decider::Deadline)]);
    let answers = sandbox.read_home("answers").expect("answers");
    let answers: Vec<serde_json::Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let names: Vec<_> = answers.iter().map(|answer| &answer["response"]["request_id"]).collect();
    assert_eq!(names, ["long", "deep", "broken"]);
    let refusals = sandbox.read_home("refusals").expect("refusals");
    assert_eq!(refusals.matches("\"subtype\":\"error\"").count(), 2, "{refusals}");
    for record in &records {
        let bytes = serde_json::to_string(record).expect("JSON").len();
        assert!(bytes < 64 * 1024, "a record of {bytes} bytes");
    }
    sandbox.assert_nothing_runs();
}

#[test]
fn an_agent_that_says_nothing_more_after_an_answer_ends_by_the_idle_limit() {
    let silent = "asks 'curl example.org' one; exec sleep 600";
    let (sandbox, _) = asking(r#"{ "ask": ["Bash(curl *)"] }"#, silent);
    let running = sandbox
        .looping(["--idle-timeout", "700ms", "--max-iterations", "1"])
        .start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let answered = sandbox.ralph(["answer", "1", "yes"]).run(SOON);
    assert_eq!(answered.code(), Some(0), "{answered:?}");
    let finished = running.wait(SOON);
    let ended = events(&finished.records()).find_map(|event| match event {
        Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    let reason = CancelReason::IdleTimeout;
    assert_eq!(ended, Some(Outcome::Cancelled { reason }));
    assert!(matches!(
        decided(&finished.records())[..],
        [(true, Decider::User { .. })]
    ));
    sandbox.assert_nothing_runs();
}
