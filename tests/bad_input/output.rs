//! Hostile output of agents, and readers of ralph's own output.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    time::Duration,
};

use nix::sys::signal::Signal;
use ralph_core::event::{Event, IterationEvent, Outcome, Record, RunEvent};

use crate::harness::{SOON, Sandbox, Script, events, wait_until};

/// Sequences, also as C1 codes, that set the clipboard and the title, clear the screen, move the cursor, ask, ring and
/// reorder.
const NASTY: &str = "print A\\e]52;c;aGVsbG8=\\e\\\\B\\e]0;title\\e\\\\C\\e[2J\\e[H\\e[6nD\\ePq#0\\e\\\\E\\rF\\n";

#[track_caller]
pub(super) fn assert_harmless(bytes: &str) {
    let harmful: Vec<char> = bytes
        .chars()
        .filter(|c| {
            (c.is_control() && *c != '\n' && *c != '\t')
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        })
        .collect();
    assert!(harmful.is_empty(), "{harmful:?} in:\n{bytes}");
}

#[test]
fn sequences_of_an_agent_never_reach_stdout_raw() {
    for format in ["text", "jsonl"] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        sandbox.install(&Script::terminal(&format!("\"$FAKE_AGENT\" '{NASTY}'; work")));
        let finished = sandbox.looping([] as [&str; 0]).arg("--format").arg(format).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_harmless(&finished.stdout);
        let said = if format == "text" { "│ F\n" } else { "\"message\":\"F" };
        assert!(finished.stdout.contains(said), "{}", finished.stdout);
        assert!(!finished.stdout.contains("aGVsbG8"), "{}", finished.stdout);
    }
}

#[test]
fn a_terminal_gets_colours_and_no_other_sequence_of_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let coloured = "print \\e[31mred\\e[0m\\n";
    sandbox.install(&Script::terminal(&format!(
        "\"$FAKE_AGENT\" '{coloured}' '{NASTY}'; work"
    )));
    // Runs on a terminal, which `script` provides.
    let command = format!("exec {} --adapter script --headless", env!("CARGO_BIN_EXE_ralph"));
    let finished = sandbox
        .program("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("\u{1b}[31mred\u{1b}[0m"),
        "{}",
        finished.stdout
    );
    let mut plain = String::new();
    for part in finished.stdout.replace("\r\n", "\n").split_inclusive("\u{1b}[") {
        plain.push_str(part.strip_suffix("\u{1b}[").unwrap_or(part));
    }
    assert_harmless(&plain);
    let sequences = finished.stdout.split("\u{1b}[").skip(1);
    let ends: Vec<char> = sequences
        .filter_map(|rest| rest.chars().find(char::is_ascii_alphabetic))
        .collect();
    assert!(ends.iter().all(|end| *end == 'm'), "{ends:?}");
}

#[test]
fn sequences_in_what_an_agent_reports_never_reach_stdout_raw() {
    let nasty = r"\u001b]52;c;aGVsbG8=\u0007\u001b[2J\u009b31m\u0000\u202ex";
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(&format!(
        r#"cat <<'END'
{{"type":"opened","session":"{nasty}","model":"{nasty}"}}
{{"type":"said","text":"said {nasty}"}}
{{"type":"thought","text":"{nasty}"}}
{{"type":"tool-started","call":"1","tool":"{nasty}","input":"{nasty}"}}
{{"type":"tool-ended","call":"1","tool":"{nasty}","ok":true,"output":"{nasty}"}}
{{"type":"file-changed","path":"{nasty}","change":"added"}}
{{"type":"retrying","attempt":1,"of":2,"why":"{nasty}"}}
{{"type":"limit-hit","kind":{{"kind":"other"}},"untilMs":1,"text":"{nasty}"}}
{{"type":"permission-asked","id":"1","text":"{nasty}"}}
{{"type":"question-asked","id":"1","text":"{nasty}"}}
{{"type":"noted","text":"{nasty}"}}
END
printf '\033]0;on stderr\007\n' >&2
if [ $n = 1 ]; then work; over '{nasty}'; else failed '{{"kind":"auth"}}' '{nasty}\nhint: type rm -rf'; fi"#
    )));
    let finished = sandbox.ralph(["--adapter", "script"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_harmless(&finished.stdout);
    assert!(
        !finished.stdout.lines().any(|line| line.starts_with("hint: type rm")),
        "an agent gives no hints in ralph's name: {}",
        finished.stdout
    );
}

#[test]
fn sequences_in_a_message_or_a_plan_never_reach_stdout_raw() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] one\u{1b}]0;x\u{7}\n- [ ] two\u{9b}31m\n");
    sandbox.install(&Script::jsonl("said ready; [ $n = 1 ] && await go; work; over done"));
    let running = sandbox.ralph(["--adapter", "script"]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    sandbox.ralph(["steer", "a\u{1b}]0;x\u{7}b"]).run(SOON);
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert_harmless(&status);
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_harmless(&finished.stdout);
}

#[test]
fn broken_utf8_and_nuls_stop_nothing() {
    for script in [
        Script::terminal("\"$FAKE_AGENT\" 'garbage 300000'; work"),
        Script::jsonl("\"$FAKE_AGENT\" 'garbage 300000'; echo; work; over done"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        sandbox.install(&script);
        let finished = sandbox.ralph(["--adapter", "script"]).run(SOON);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        assert_harmless(&finished.stdout);
    }
}

#[test]
fn a_line_of_fifty_megabytes_is_cut() {
    for script in [
        Script::terminal("\"$FAKE_AGENT\" 'long-line 50000000'; echo; work"),
        Script::jsonl("\"$FAKE_AGENT\" 'long-line 50000000'; echo; work; over done"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        sandbox.install(&script);
        let finished = sandbox
            .ralph(["--adapter", "script"])
            .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
            .run(SOON);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let longest = finished.stdout.lines().map(str::len).max().unwrap();
        assert!(longest < 20_000, "a line of {longest} bytes");
    }
}

#[test]
fn when_stdout_is_closed_the_loop_goes_on() {
    for format in ["text", "jsonl"] {
        let sandbox = Sandbox::new();
        sandbox.install(&Script::worker());
        let script = "\"$@\" | head -n 1";
        let finished = sandbox
            .looping(["--format", format])
            .under(&["sh", "-c", script, "sh"])
            .run(SOON);
        assert_eq!(finished.stdout.lines().count(), 1, "{finished:?}");
        wait_until(SOON, "end of the run", || {
            let end = ralph_state::store::journal::read(&sandbox.the_run().journal())
                .ok()?
                .0
                .pop()?;
            matches!(end.event, Event::Run(RunEvent::Stopped { .. })).then_some(())
        });
        assert!(!sandbox.read("PLAN.md").unwrap().contains("[ ]"));
        assert_eq!(finished.stderr, "");
    }
}

#[test]
fn a_pipe_that_nobody_reads_holds_up_the_agent_but_not_an_interrupt() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(": > \"$HOME/ready\"; exec yes"));
    let running = sandbox.ralph(["--adapter", "script"]).unread().start();
    wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    // The agent is blocked: its output is not read.
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait_for_exit(SOON).code(), Some(130));
    sandbox.assert_nothing_runs();
    let records = sandbox.journal();
    assert!(events(&records).any(|event| matches!(
        event,
        Event::Iteration(IterationEvent::Ended {
            outcome: Outcome::Cancelled { .. },
            ..
        })
    )));
}

#[test]
fn a_slow_reader_gets_every_record_and_is_waited_for_at_the_end() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let many = "i=0; while [ $i -lt 6000 ]; do said \"number $i\"; i=$((i + 1)); done; work; over done";
    sandbox.install(&Script::jsonl(many));
    let mut running = sandbox.looping([] as [&str; 0]).unread().start();
    wait_until(SOON, "end of the run", || {
        let run = sandbox.paths().latest_run()?;
        let journal = std::fs::read_to_string(sandbox.paths().run(&run).journal()).ok()?;
        journal.contains("run-stopped").then_some(())
    });
    // Longer than ralph waits for a reader after a stop request.
    assert!(
        !running.ends_within(Duration::from_secs(5)),
        "the end is still in the pipe"
    );
    let stdout = running.take_stdout();
    let records: Vec<Record> = BufReader::new(stdout)
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(records, sandbox.journal());
    assert_eq!(running.wait_for_exit(SOON).code(), Some(0));
}

#[test]
fn a_full_device_as_stdout_stops_nothing() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let Ok(_) = File::open("/dev/full") else { return };
    let finished = sandbox
        .looping([] as [&str; 0])
        .under(&["sh", "-c", "exec \"$@\" > /dev/full", "sh"])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.journal().last().map(|record| record.seq > 5), Some(true));
}
