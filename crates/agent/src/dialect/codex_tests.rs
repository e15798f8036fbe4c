use ralph_core::event::{Exit, ProblemKind};

use crate::dialect::{
    DialectKind,
    recordings_tests::{
        OK, RecordedSession, assert_cuts_change_nothing, assert_noise_is_said_once,
        assert_one_verdict_wherever_it_stops, assert_pieces_change_nothing, assert_reads_well, assert_reviewed,
        recordings, signals,
    },
};

use super::*;

const KIND: DialectKind = DialectKind::CodexJson;

/// Recordings of codex 0.169.0, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "codex": "cut" "http401" "http404" "http429" "http429x2" "http500" "q-usage-limit" "resume-1" "resume-2"
        "resume-bad-2" "sig-SIGINT" "sig-SIGTERM" "stream_error" "subagents" "success" "todo-list" "toolfail" "x-default-sandbox" "x-drip20"
    }
}

#[test]
fn recordings_give_the_signals_that_were_reviewed() {
    assert_reviewed(KIND, "codex", &all());
}

#[test]
fn a_person_can_read_what_happened() {
    assert_reads_well(
        KIND,
        "codex",
        recordings!("codex": "success" "todo-list" "toolfail" "q-usage-limit"),
    );
}

#[test]
fn every_recording_in_pieces_of_any_size_gives_the_same_signals() {
    assert_pieces_change_nothing(KIND, &all());
}

#[test]
fn a_recording_cut_at_every_byte_gives_the_same_signals() {
    for recording in recordings!("codex": "success" "http401" "q-usage-limit") {
        assert_cuts_change_nothing(KIND, &recording);
    }
}

#[test]
fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
    for recording in recordings!("codex": "success" "http500" "toolfail") {
        assert_one_verdict_wherever_it_stops(KIND, &recording);
    }
}

#[test]
fn noise_between_the_lines_changes_no_signal_but_is_said() {
    for recording in all() {
        assert_noise_is_said_once(KIND, &recording);
    }
}

fn parsed(stdout: &str, exit: Exit) -> Vec<AgentSignal> {
    signals(KIND, &RecordedSession::made_up(stdout, "", exit))
}

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
        AgentSignal::Noted {
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
            kind: Some(ProblemKind::Network),
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
            duration_ms: Some(0),
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
        AgentSignal::Noted {
            text: "warning: b was not changed".to_owned()
        }
    );
}
