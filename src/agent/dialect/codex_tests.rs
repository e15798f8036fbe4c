use crate::event::{Exit, ProblemKind};

use super::*;

#[derive(Clone)]
struct Recording {
    name: &'static str,
    stdout: Vec<u8>,
    stderr: String,
    exit: Exit,
}

macro_rules! recordings {
    ($($name:literal)*) => {
        vec![$(Recording::new(
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".jsonl")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".stderr")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".exit")),
        )),*]
    };
}

/// What codex 0.169.0 wrote in as many situations.
fn all() -> Vec<Recording> {
    recordings! {
        "cut" "http401" "http404" "http429" "http429x2" "http500" "q-usage-limit" "resume-1" "resume-2"
        "resume-bad-2" "sig-SIGINT" "sig-SIGTERM" "stream_error" "success" "toolfail" "x-default-sandbox" "x-drip20"
    }
}

impl Recording {
    fn new(name: &'static str, stdout: &[u8], stderr: &str, exit: &str) -> Self {
        let exit: i32 = exit.trim().parse().expect("an exit code");
        let exit = if exit < 0 {
            Exit::Signal { signal: -exit }
        } else {
            Exit::Code { code: exit }
        };
        Self {
            name,
            stdout: stdout.to_vec(),
            stderr: stderr.to_owned(),
            exit,
        }
    }
}

/// The recordings of these names.
fn some(names: &[&str]) -> Vec<Recording> {
    let found: Vec<_> = all()
        .into_iter()
        .filter(|recording| names.contains(&recording.name))
        .collect();
    assert_eq!(found.len(), names.len());
    found
}

fn signals(recording: &Recording) -> Vec<AgentSignal> {
    signals_of_pieces(&[&recording.stdout], recording)
}

fn signals_of_pieces(pieces: &[&[u8]], recording: &Recording) -> Vec<AgentSignal> {
    let mut dialect = CodexJson::default();
    let mut out = Vec::new();
    for piece in pieces {
        dialect.feed(piece, &mut out);
    }
    dialect.finish(
        Finish {
            exit: Some(recording.exit),
            stderr: &recording.stderr,
        },
        &mut out,
    );
    out
}

#[test]
fn recordings_give_the_signals_that_were_reviewed() {
    for recording in all() {
        let name = recording.name;
        let lines = signals(&recording)
            .into_iter()
            .map(|signal| serde_json::to_string(&signal).unwrap());
        let shown = lines.collect::<Vec<_>>().join("\n");
        insta::with_settings!({ snapshot_path => "../../../tests/fixtures/codex/signals", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, shown);
        });
    }
}

#[test]
fn a_recording_cut_at_every_byte_gives_the_same_signals() {
    for recording in some(&["success", "http401", "q-usage-limit"]) {
        let name = recording.name;
        let whole = signals(&recording);
        for at in 0..=recording.stdout.len() {
            let (head, tail) = recording.stdout.split_at(at);
            assert_eq!(
                signals_of_pieces(&[head, tail], &recording),
                whole,
                "{name} cut at {at}"
            );
        }
        let bytes: Vec<_> = recording.stdout.chunks(1).collect();
        assert_eq!(signals_of_pieces(&bytes, &recording), whole, "{name} byte by byte");
    }
}

#[test]
fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
    for recording in some(&["success", "http500", "toolfail"]) {
        let name = recording.name;
        for at in 0..=recording.stdout.len() {
            let out = signals_of_pieces(&[&recording.stdout[..at]], &recording);
            let verdicts = out
                .iter()
                .filter(|signal| matches!(signal, AgentSignal::TurnEnded { .. }))
                .count();
            assert_eq!(verdicts, 1, "{name} stopped at {at}");
            assert!(matches!(out.last(), Some(AgentSignal::TurnEnded { .. })));
        }
    }
}

#[test]
fn noise_between_the_lines_changes_no_signal_but_is_said() {
    for recording in all() {
        let name = recording.name;
        let whole = signals(&recording);
        let mut noisy = b"npm warn something\n".to_vec();
        for line in recording.stdout.split_inclusive(|byte| *byte == b'\n') {
            noisy.extend_from_slice(b"\0\0\xff garbage {\r\n\n{\"type\":\"brand.new\",\"x\":1}\n\0");
            noisy.extend_from_slice(&line[..line.len() - 1]);
            noisy.extend_from_slice(b"\r\n");
        }
        let mut out = signals_of_pieces(&[&noisy], &recording);
        let said = |signal: &AgentSignal, text: &str| matches!(signal, AgentSignal::Unknown { text: said } if said.starts_with(text));
        let before = out.len();
        out.retain(|signal| !said(signal, "not an event") && !said(signal, "unknown event {\"type\":\"brand.new\""));
        assert!(before - out.len() <= 2, "{name}: each kind of noise is said once");
        assert_eq!(out, whole, "{name}");
    }
}

fn parsed(stdout: &str, exit: Exit) -> Vec<AgentSignal> {
    signals(&Recording {
        name: "made up",
        stdout: stdout.as_bytes().to_vec(),
        stderr: String::new(),
        exit,
    })
}

const OK: Exit = Exit::Code { code: 0 };

#[test]
fn exit_code_zero_without_a_verdict_is_no_success() {
    let out = parsed(
        r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"All done!"}}"#,
        OK,
    );
    assert!(matches!(&out[1], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Crashed));
    assert_eq!(
        out[2],
        AgentSignal::TurnEnded {
            ok: false,
            message: Some("All done!".to_owned())
        }
    );
}

#[test]
fn an_error_without_a_failed_turn_is_the_failure() {
    let out = parsed(
        r#"{"type":"error","message":"unexpected status 403 Forbidden: no"}"#,
        Exit::Code { code: 1 },
    );
    assert!(
        matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Auth),
        "{out:?}"
    );
    assert_eq!(out.len(), 2);
}

#[test]
fn an_error_that_did_not_end_the_turn_is_a_warning() {
    let out = parsed(
        "{\"type\":\"error\",\"message\":\"odd\"}\n{\"type\":\"turn.completed\"}",
        OK,
    );
    assert_eq!(
        out[0],
        AgentSignal::Unknown {
            text: "warning: odd".to_owned()
        }
    );
    assert_eq!(
        out[1],
        AgentSignal::TurnEnded {
            ok: true,
            message: None
        }
    );
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let quoted = "unexpected status 401 Unauthorized; You've hit your usage limit";
    let item = |kind: &str, field: &str| {
        format!(r#"{{"type":"item.completed","item":{{"id":"1","type":"{kind}","{field}":"{quoted}"}}}}"#)
    };
    let items = [
        item("agent_message", "text"),
        item("reasoning", "text"),
        item("command_execution", "aggregated_output"),
    ];
    let out = parsed(&items.join("\n"), Exit::Code { code: 1 });
    let problems: Vec<_> = out
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Problem { .. }))
        .collect();
    assert!(
        matches!(problems[..], [AgentSignal::Problem { problem }] if problem.kind == ProblemKind::Crashed),
        "{problems:?}"
    );
}

#[test]
fn retries_without_numbers_are_retries() {
    let out = parsed(
        r#"{"type":"error","message":"Reconnecting... waiting for network"}"#,
        OK,
    );
    assert_eq!(
        out[0],
        AgentSignal::Retrying {
            attempt: None,
            of: None,
            why: "waiting for network".to_owned(),
            kind: None,
        }
    );
}

#[test]
fn other_tools_are_shown_with_what_they_were_asked_and_what_they_answered() {
    let stdout = r#"{"type":"item.started","item":{"id":"1","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"x"},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"1","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"x"},"result":{"content":[{"type":"text","text":"found"}]},"status":"completed"}}
{"type":"item.completed","item":{"id":"2","type":"file_change","changes":[{"path":"a","kind":"delete"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"3","type":"file_change","changes":[{"path":"b","kind":"add"}],"status":"failed"}}"#;
    let out = parsed(stdout, OK);
    let (call, tool) = ("1".to_owned(), "docs.find".to_owned());
    let input = r#"{"q":"x"}"#.to_owned();
    assert_eq!(
        out[0],
        AgentSignal::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            input
        }
    );
    assert_eq!(
        out[1],
        AgentSignal::ToolEnded {
            call,
            tool,
            ok: true,
            output: "found".to_owned(),
            duration_ms: None,
        }
    );
    assert_eq!(
        out[2],
        AgentSignal::FileChanged {
            path: "a".to_owned(),
            change: FileChange::Deleted
        }
    );
    assert_eq!(
        out[3],
        AgentSignal::Unknown {
            text: "warning: b was not changed".to_owned()
        }
    );
}

#[test]
fn the_shell_around_a_command_is_taken_away_where_that_changes_nothing() {
    assert_eq!(bare_command("/bin/bash -lc 'ls && pwd'"), "ls && pwd");
    assert_eq!(bare_command("bash -lc \"echo 'a'\""), "echo 'a'");
    assert_eq!(bare_command("bash -lc ls"), "ls");
    assert_eq!(bare_command(r#"bash -lc "echo \"a\"""#), r#""echo \"a\"""#);
    assert_eq!(bare_command("git commit -lc x"), "git commit -lc x");
    assert_eq!(bare_command("'one"), "'one");
}
