use ralph_core::event::ProblemKind;
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

const KIND: DialectKind = DialectKind::GeminiStreamJson;

/// Recordings of gemini-cli 0.61.0, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "gemini": "bad-flag" "cut" "http401" "http403" "http404" "http429" "http429x2" "http500" "maxturns" "nokey"
        "overflow" "q-perday" "q-retry-3600" "resume-1" "resume-2" "resume-bad" "sig-SIGINT" "sig-SIGTERM"
        "stream_error" "success" "toolfail" "x-drip20" "x-untrusted"
    }
}

#[test]
fn recordings_give_the_signals_that_were_reviewed() {
    assert_reviewed(KIND, "gemini", &all());
}

#[test]
fn a_person_can_read_what_happened() {
    assert_reads_well(KIND, "gemini", recordings!("gemini": "success" "toolfail" "q-perday"));
}

#[test]
fn every_recording_in_pieces_of_any_size_gives_the_same_signals() {
    assert_pieces_change_nothing(KIND, &all());
}

#[test]
fn a_recording_cut_at_every_byte_gives_the_same_signals() {
    for recording in recordings!("gemini": "success" "http401" "cut") {
        assert_cuts_change_nothing(KIND, &recording);
    }
}

#[test]
fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
    for recording in recordings!("gemini": "success" "http500" "toolfail") {
        assert_one_verdict_wherever_it_stops(KIND, &recording);
    }
}

#[test]
fn noise_between_the_lines_changes_no_signal_but_is_said() {
    // Only recordings without message pieces: noise between the pieces would split a message in two.
    for recording in recordings!("gemini": "toolfail" "http429x2" "q-perday" "x-untrusted" "sig-SIGINT" "cut") {
        assert_noise_is_said_once(KIND, &recording);
    }
}

#[test]
fn every_way_to_fail_is_told_from_the_others() {
    let kinds = [
        ProblemKind::Auth,
        ProblemKind::Auth,
        ProblemKind::Auth,
        ProblemKind::ModelUnknown,
        ProblemKind::RateLimited { until_ms: None },
        ProblemKind::QuotaExhausted {
            until_ms: Some(ms("2026-11-20T11:00:00Z")),
        },
        // Midnight in California.
        ProblemKind::QuotaExhausted {
            until_ms: Some(ms("2026-11-21T08:00:00Z")),
        },
        ProblemKind::Overloaded,
        ProblemKind::Overloaded,
        ProblemKind::Network,
        ProblemKind::ContextOverflow,
        ProblemKind::TurnLimit,
        ProblemKind::SessionLost,
        ProblemKind::Usage,
        ProblemKind::Usage,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "gemini": "http401" "http403" "nokey" "http404" "http429" "q-retry-3600" "q-perday" "http500" "stream_error"
        "cut" "overflow" "maxturns" "resume-bad" "bad-flag" "x-untrusted" "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

#[test]
fn the_pieces_of_a_message_are_said_as_one() {
    let piece = |text: &str| json!({"type": "message", "role": "assistant", "content": text, "delta": true});
    let tool = json!({"type": "tool_use", "tool_name": "x", "tool_id": "1", "parameters": {}});
    let stdout = events(&[piece("one "), piece("two"), tool, piece("three")]);
    let out = signals(KIND, &RecordedSession::made_up(&stdout, "", OK));
    let said: Vec<_> = out
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::Said { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["one two", "three"]);
    assert!(matches!(out.last(), Some(AgentSignal::TurnEnded { ok: false, message: Some(last) }) if last == "three"));
}

#[test]
fn a_message_without_end_does_not_take_all_memory() {
    let piece = json!({"type": "message", "role": "assistant", "content": "x".repeat(500_000), "delta": true});
    let mut turn = GeminiTurn::default();
    let mut out = Vec::new();
    for _ in 0..20 {
        turn.take(&piece, &ZonedClock::at(NOW), &mut out);
        assert!(turn.saying.len() <= 3 * TEXT_CAP_BYTES);
    }
}

#[test]
fn the_exit_code_tells_what_the_words_do_not() {
    let failed = |code| {
        let end = json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": "[API Error: It did not work.]"}});
        let recording = RecordedSession::made_up(&events(&[end]), "", Exit::Code { code });
        problem(KIND, &recording).expect("a problem")
    };
    assert_eq!(failed(145).kind, ProblemKind::Auth);
    assert_eq!(failed(173).kind, ProblemKind::RateLimited { until_ms: None });
    assert_eq!(failed(247).kind, ProblemKind::Overloaded);
    assert_eq!(failed(17).kind, ProblemKind::Overloaded);
    assert_eq!(failed(1).kind, ProblemKind::Other);
    assert_eq!(failed(0).text, "It did not work.");
}

#[test]
fn retries_are_taken_from_what_it_writes_beside() {
    let mut out = Vec::new();
    let lines = [
        r#"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}"#,
        "Attempt 2 failed. Retrying with backoff... TypeError: fetch failed",
        "    at retryWithBackoff (file:///x.js:1:2)",
        "Attempt to read a file failed",
    ];
    for line in lines {
        KIND.parser().stderr_line(line, &ZonedClock::at(NOW), &mut out);
    }
    let retrying = |attempt, why: &str, kind| AgentSignal::Retrying {
        attempt: Some(attempt),
        of: None,
        why: why.to_owned(),
        kind: Some(kind),
    };
    assert_eq!(
        out,
        [
            retrying(1, "status 429: Slow down.", ProblemKind::RateLimited { until_ms: None }),
            retrying(2, "TypeError: fetch failed", ProblemKind::Network),
        ]
    );
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let quoted = "[API Error: 429 rate limit] You have exhausted your daily quota";
    let said = json!({"type": "message", "role": "assistant", "content": quoted});
    let result = json!({"type": "tool_result", "tool_id": "1", "status": "error", "output": quoted});
    let end = json!({"type": "result", "status": "success"});
    let good = RecordedSession::made_up(&events(&[said.clone(), result.clone(), end]), "", OK);
    assert_eq!(problem(KIND, &good), None);
    let cut = RecordedSession::made_up(&events(&[said, result]), "", Exit::Code { code: 1 });
    assert_eq!(
        problem(KIND, &cut).map(|problem| problem.kind),
        Some(ProblemKind::Crashed)
    );
}
