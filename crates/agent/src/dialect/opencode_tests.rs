use ralph_core::event::{Exit, ProblemKind, Usage};
use serde_json::json;

use crate::dialect::{
    DialectKind,
    recordings_tests::{
        NOW, OK, RecordedSession, assert_cuts_change_nothing, assert_noise_is_said_once,
        assert_one_verdict_wherever_it_stops, assert_pieces_change_nothing, assert_problems, assert_reads_well,
        assert_reviewed, ms, problem, recordings, signals,
    },
};

use super::*;

const KIND: DialectKind = DialectKind::OpencodeJson;

/// Recordings of opencode 1.18.33, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "opencode": "bad-agent" "bad-flag" "cut" "deny" "http401" "http404" "http429" "http429x2" "http500"
        "overflow-loop" "q-quota" "q-retry-after-3600" "resume-1" "resume-2" "resume-bad-2" "sig-SIGINT" "sig-SIGTERM"
        "stream_error" "success" "toolfail" "unknown-model" "unknownprovider" "x-drip20" "x-noauto-ask" "y-thinking"
    }
}

#[test]
fn recordings_give_the_signals_that_were_reviewed() {
    assert_reviewed(KIND, "opencode", &all());
}

#[test]
fn a_person_can_read_what_happened() {
    assert_reads_well(
        KIND,
        "opencode",
        recordings!("opencode": "success" "toolfail" "y-thinking" "overflow-loop" "x-noauto-ask"),
    );
}

#[test]
fn every_recording_in_pieces_of_any_size_gives_the_same_signals() {
    assert_pieces_change_nothing(KIND, &all());
}

#[test]
fn a_recording_cut_at_every_byte_gives_the_same_signals() {
    for recording in recordings!("opencode": "toolfail" "http401" "x-noauto-ask") {
        assert_cuts_change_nothing(KIND, &recording);
    }
}

#[test]
fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
    for recording in recordings!("opencode": "toolfail" "http500" "resume-1") {
        assert_one_verdict_wherever_it_stops(KIND, &recording);
    }
}

#[test]
fn noise_between_the_lines_changes_no_signal_but_is_said() {
    for recording in all().into_iter().filter(|recording| recording.name != "bad-agent") {
        assert_noise_is_said_once(KIND, &recording);
    }
}

#[test]
fn every_way_to_fail_is_told_from_the_others() {
    let kinds = [
        ProblemKind::Auth,
        ProblemKind::ModelUnknown,
        ProblemKind::ModelUnknown,
        ProblemKind::RateLimited {
            until_ms: Some(ms("2026-11-20T10:00:02Z")),
        },
        ProblemKind::Overloaded,
        ProblemKind::Overloaded,
        ProblemKind::Network,
        ProblemKind::ContextOverflow,
        ProblemKind::PermissionDenied,
        ProblemKind::PermissionDenied,
        ProblemKind::SessionLost,
        ProblemKind::Usage,
        ProblemKind::Usage,
        ProblemKind::Other,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "opencode": "http401" "http404" "unknown-model" "http429" "http500" "stream_error" "cut" "overflow-loop"
        "x-noauto-ask" "deny" "resume-bad-2" "bad-flag" "bad-agent" "unknownprovider" "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn overflow() -> Value {
    json!({"type": "error", "sessionID": "s", "error": {"name": "ContextOverflowError", "data": {"message": "too long"}}})
}

fn tool(output: &str) -> Value {
    json!({"type": "tool_use", "sessionID": "s", "part": {"tool": "bash", "callID": "1", "state": {"status": "completed", "input": {"command": "ls"}, "output": output}}})
}

fn stop() -> Value {
    json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "tokens": {"input": 1}}})
}

/// Whether the program has to be ended after these events.
fn is_stuck(stdout: &[Value]) -> bool {
    let mut dialect = KIND.parser();
    dialect.feed(events(stdout).as_bytes(), &ZonedClock::at(NOW), &mut Vec::new());
    dialect.is_stuck()
}

#[test]
fn the_third_overflow_with_nothing_done_in_between_ends_the_program() {
    assert!(!is_stuck(&[overflow(), stop(), overflow(), stop()]));
    assert!(is_stuck(&[overflow(), stop(), overflow(), stop(), overflow()]));
    assert!(!is_stuck(&[overflow(), overflow(), tool(""), overflow(), overflow()]));
}

#[test]
fn a_turn_that_went_on_after_an_overflow_succeeds() {
    let recording = RecordedSession::made_up(
        &events(&[overflow(), stop(), tool("done"), stop()]),
        "",
        Exit::Code { code: 1 },
    );
    let out = signals(KIND, &recording);
    assert!(
        matches!(out.last(), Some(AgentSignal::TurnEnded { ok: true, .. })),
        "{out:?}"
    );
}

#[test]
fn what_the_log_says_of_a_silent_wait_is_what_it_waits_for() {
    let waits = |name: RecordedSession| match signals(KIND, &name).first() {
        Some(AgentSignal::Retrying { kind, attempt, .. }) => (*kind, *attempt),
        other => panic!("{other:?}"),
    };
    let [limited, quota] = &recordings!("opencode": "q-retry-after-3600" "q-quota")[..] else {
        panic!("two recordings")
    };
    assert_eq!(
        waits(limited.clone()),
        (Some(ProblemKind::RateLimited { until_ms: None }), Some(1))
    );
    assert_eq!(
        waits(quota.clone()),
        (Some(ProblemKind::QuotaExhausted { until_ms: None }), Some(1))
    );
}

#[test]
fn another_agent_than_the_one_asked_for_is_not_run() {
    let mut dialect = KIND.parser();
    let mut out = Vec::new();
    dialect.stderr_line(
        "!  agent \"nosuch\" not found. Falling back to default agent",
        &ZonedClock::at(NOW),
        &mut out,
    );
    assert!(dialect.is_stuck());
    assert!(matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Usage));
}

#[test]
fn a_model_that_stopped_for_another_reason_has_not_succeeded() {
    let stopped = |reason: &str| {
        let end = json!({"type": "step_finish", "part": {"reason": reason}});
        problem(KIND, &RecordedSession::made_up(&events(&[end]), "", OK)).map(|problem| problem.kind)
    };
    assert_eq!(stopped("stop"), None);
    assert_eq!(stopped("length"), Some(ProblemKind::Other));
    assert_eq!(stopped("tool-calls"), Some(ProblemKind::Crashed));
}

#[test]
fn what_opencode_tells_the_model_is_not_said_by_it() {
    let text = |text: &str, synthetic: bool| json!({"type": "text", "part": {"text": text, "synthetic": synthetic}});
    let out = signals(
        KIND,
        &RecordedSession::made_up(&events(&[text("mine", false), text("not mine", true), stop()]), "", OK),
    );
    let said: Vec<_> = out
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Said { .. }))
        .collect();
    assert_eq!(said.len(), 1);
    assert!(matches!(out.last(), Some(AgentSignal::TurnEnded { message: Some(last), .. }) if last == "mine"));
}

#[test]
fn a_price_of_nothing_is_a_price_nobody_knows() {
    let end = json!({"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 900, "output": 40, "reasoning": 10, "cache": {"read": 100, "write": 0}}, "cost": 0}});
    let out = signals(KIND, &RecordedSession::made_up(&events(&[end]), "", OK));
    assert_eq!(
        out[0],
        AgentSignal::Usage {
            usage: Usage {
                input_tokens: Some(1000),
                cached_tokens: Some(100),
                output_tokens: Some(50),
                cost_usd: None,
                ..Usage::default()
            }
        }
    );
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let quoted = "AI_APICallError: rate limit 429; The user rejected permission to use this specific tool call";
    let said = json!({"type": "text", "part": {"text": quoted}});
    let recording = RecordedSession::made_up(&events(&[said, tool(quoted), stop()]), "", OK);
    assert_eq!(problem(KIND, &recording), None);
}
