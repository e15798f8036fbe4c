use std::sync::Arc;

use ralph_core::event::{Exit, ProblemKind};
use serde_json::json;

use crate::dialect::{
    DialectKind,
    recordings_tests::{
        OK, RecordedSession, assert_cuts_change_nothing, assert_noise_is_said_once,
        assert_one_verdict_wherever_it_stops, assert_pieces_change_nothing, assert_problems, assert_reads_well,
        assert_reviewed, ms, problem, recordings, signals,
    },
};

use super::*;
use crate::usage::TurnUsageMeter;

const KIND: DialectKind = DialectKind::ClaudeStreamJson;

/// Recordings of Claude Code 2.1.197, one for each situation; those of subagents are of 2.1.332.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "claude": "bad-flag" "cut" "http401" "http403" "http404" "http429" "http429x2" "http500" "maxturns" "nokey"
        "overflow" "q-credit" "q-retry-after-3600" "q-unified-oauth" "resume-1" "resume-2" "resume-bad" "root"
        "sig-SIGINT" "sig-SIGTERM" "stream_error" "subagents" "subagents-in-background" "success" "toolfail" "x-default-perm"
        "x-drip20-partial"
    }
}

#[test]
fn recordings_give_the_signals_that_were_reviewed() {
    assert_reviewed(KIND, "claude", &all());
}

#[test]
fn a_person_can_read_what_happened() {
    assert_reads_well(
        KIND,
        "claude",
        recordings!("claude": "success" "toolfail" "http429x2" "q-unified-oauth" "x-default-perm"),
    );
}

#[test]
fn every_recording_in_pieces_of_any_size_gives_the_same_signals() {
    assert_pieces_change_nothing(KIND, &all());
}

#[test]
fn a_recording_cut_at_every_byte_gives_the_same_signals() {
    for recording in recordings!("claude": "toolfail" "q-unified-oauth" "sig-SIGINT") {
        assert_cuts_change_nothing(KIND, &recording);
    }
}

#[test]
fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
    for recording in recordings!("claude": "toolfail" "maxturns" "http404") {
        assert_one_verdict_wherever_it_stops(KIND, &recording);
    }
}

#[test]
fn noise_between_the_lines_changes_no_signal_but_is_said() {
    for recording in all() {
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
        ProblemKind::RateLimited { until_ms: None },
        ProblemKind::QuotaExhausted {
            until_ms: Some(ms("2026-11-20T18:40:00Z")),
        },
        ProblemKind::QuotaExhausted { until_ms: None },
        ProblemKind::Overloaded,
        ProblemKind::Overloaded,
        ProblemKind::Network,
        ProblemKind::ContextOverflow,
        ProblemKind::TurnLimit,
        ProblemKind::SessionLost,
        ProblemKind::Usage,
        ProblemKind::Usage,
        ProblemKind::PermissionDenied,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "claude": "http401" "http403" "nokey" "http404" "http429" "q-retry-after-3600" "q-unified-oauth" "q-credit"
        "http500" "stream_error" "cut" "overflow" "maxturns" "resume-bad" "bad-flag" "root" "x-default-perm"
        "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

fn event(event: Value) -> String {
    format!("{event}\n")
}

fn parsed(stdout: &str, exit: Exit) -> Vec<AgentSignal> {
    signals(KIND, &RecordedSession::made_up(stdout, "", exit))
}

fn refused(result: &str, error: &str) -> Problem {
    let said =
        event(json!({"type": "assistant", "error": error, "message": {"content": [{"type": "text", "text": result}]}}));
    let end = event(json!({"type": "result", "subtype": "success", "is_error": true, "result": result}));
    let recording = RecordedSession::made_up(&(said + &end), "", Exit::Code { code: 1 });
    problem(KIND, &recording).expect("a problem")
}

#[test]
fn a_limit_of_the_plan_has_the_time_that_its_words_say() {
    for (result, until) in [
        (
            "You've hit your session limit · resets 7pm (Asia/Tokyo)",
            "2026-11-20T10:00:00Z",
        ),
        (
            "You've hit your weekly limit · resets Nov 23, 9am",
            "2026-11-23T07:00:00Z",
        ),
        ("Claude AI usage limit reached|1795200000", "2026-11-20T18:40:00Z"),
    ] {
        let until_ms = Some(ms(until));
        assert_eq!(
            refused(result, "rate_limit").kind,
            ProblemKind::QuotaExhausted { until_ms },
            "{result}"
        );
    }
}

#[test]
fn a_limit_that_is_only_near_is_announced_and_ends_nothing() {
    let near = json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 1_795_200_000, "rateLimitType": "seven_day"}});
    let fine = json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}});
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done"});
    let out = parsed(&[near, fine, end].map(event).concat(), OK);
    let until_ms = Some(ms("2026-11-20T18:40:00Z"));
    assert_eq!(
        out,
        [
            AgentSignal::LimitHit {
                kind: ProblemKind::QuotaExhausted { until_ms },
                until_ms,
                text: "the seven day limit is near".to_owned(),
            },
            AgentSignal::TurnEnded {
                ok: true,
                message: Some("done".to_owned()),
            },
        ]
    );
}

#[test]
fn the_used_share_of_a_window_is_told_where_claude_knows_it() {
    let about = |info: Value| event(json!({"type": "rate_limit_event", "rate_limit_info": info}));
    let near = json!({"status": "allowed_warning", "resetsAt": 1_795_200_000, "rateLimitType": "five_hour", "utilization": 0.915});
    let of_model = json!({"status": "allowed_warning", "resetsAt": 1_795_200_000, "rateLimitType": "seven_day_opus", "utilization": 0.9});
    let unknown = json!({"status": "allowed", "resetsAt": 1_795_200_000, "rateLimitType": "seven_day"});
    let full = json!({"status": "rejected", "resetsAt": 1_795_200_000, "rateLimitType": "seven_day"});
    let out = parsed(&[near, of_model, unknown, full].map(about).concat(), OK);
    let windows: Vec<_> = out
        .into_iter()
        .filter_map(|signal| match signal {
            AgentSignal::WindowUsed { window } => Some((window.kind, window.used_percent, window.resets_ms)),
            _ => None,
        })
        .collect();
    let resets_ms = ms("2026-11-20T18:40:00Z");
    assert_eq!(
        windows,
        [
            (WindowKind::FiveHour, 92, resets_ms),
            (WindowKind::Week, 100, resets_ms)
        ]
    );
}

#[test]
fn what_a_sub_agent_says_is_not_the_final_message() {
    let said = |text: &str, parent: Value| json!({"type": "assistant", "parent_tool_use_id": parent, "message": {"content": [{"type": "text", "text": text}]}});
    let stdout = event(said("mine", Value::Null)) + &event(said("the other's", json!("toolu_1")));
    let out = parsed(&stdout, OK);
    let text = "the other's".to_owned();
    assert_eq!(out[1], AgentSignal::Thought { text });
    assert!(
        matches!(&out[3], AgentSignal::TurnEnded { ok: false, message: Some(message) } if message == "mine"),
        "{out:?}"
    );
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let quoted = "API Error: 429 rate limit; You've hit your session limit · resets 7pm; Not logged in";
    let said = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": quoted}, {"type": "thinking", "thinking": quoted}]}});
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": quoted}]}});
    for (end, expected) in [
        (
            Some(json!({"type": "result", "subtype": "success", "is_error": false, "result": quoted})),
            None,
        ),
        (None, Some(ProblemKind::Crashed)),
    ] {
        let events = [Some(said.clone()), Some(result.clone()), end];
        let stdout: String = events.into_iter().flatten().map(event).collect();
        let problem = problem(KIND, &RecordedSession::made_up(&stdout, "", Exit::Code { code: 1 }));
        assert_eq!(problem.map(|problem| problem.kind), expected);
    }
}

#[test]
fn a_turn_that_succeeded_although_something_was_denied_says_what() {
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "permission_denials": [{"tool_name": "Bash", "tool_input": {"command": "git push"}}]});
    let out = parsed(&event(end), OK);
    assert!(
        matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::PermissionDenied && problem.text == "Bash (git push)"),
        "{out:?}"
    );
    assert!(matches!(out[1], AgentSignal::TurnEnded { ok: true, .. }));
}

#[test]
fn the_results_of_tools_may_be_lists_of_blocks() {
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}]}});
    let out = parsed(&event(result), OK);
    assert!(
        matches!(&out[0], AgentSignal::ToolEnded { output, ok: true, .. } if output == "a\nb"),
        "{out:?}"
    );
}

#[test]
fn events_of_a_version_to_come_are_reported_once_and_stop_nothing() {
    let new = json!({"type": "system", "subtype": "brand_new"});
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done"});
    let out = parsed(&[new.clone(), new, end].map(event).concat(), OK);
    assert!(matches!(&out[0], AgentSignal::Unknown { event, .. } if event == "system/brand_new"));
    assert!(matches!(out[1], AgentSignal::TurnEnded { ok: true, .. }), "{out:?}");
}

#[test]
fn programs_that_speak_the_same_dialect_count_in_their_own_way() {
    let used = |usage: Value| {
        let end = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "usage": usage});
        match parsed(&event(end), OK).swap_remove(0) {
            AgentSignal::Usage { usage } => (usage.input_tokens, usage.cached_tokens, usage.output_tokens),
            other => panic!("{other:?}"),
        }
    };
    let together =
        json!({"input_tokens": 2000, "output_tokens": 100, "cache_read_input_tokens": 200, "total_tokens": 2100});
    assert_eq!(used(together), (Some(2000), Some(200), Some(100)));
    let apart = json!({"input_tokens": 2000, "output_tokens": 100, "cache_read_input_tokens": 200});
    assert_eq!(used(apart), (Some(2200), Some(200), Some(100)));
}

#[test]
fn an_error_is_understood_as_others_put_it_that_speak_like_claude() {
    let end = json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true,
        "error": { "message": "[API Error: 429 rate limit reached]" },
    });
    let recording = RecordedSession::made_up(&event(end), "", Exit::Code { code: 1 });
    let problem = problem(KIND, &recording).expect("a problem");
    assert_eq!(problem.kind, ProblemKind::RateLimited { until_ms: None });
    assert_eq!(problem.text, "[API Error: 429 rate limit reached]");
}

/// Parses a turn of the session `a` after others, and returns its usage. The totals are those of the session.
fn used_in_turn(version: &str, earlier: EarlierTurns, total: u64) -> Usage {
    let mut dialect = KIND.parser();
    dialect.follow(earlier);
    let events = [
        json!({"type": "system", "subtype": "init", "session_id": "a", "claude_code_version": version}),
        json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "done",
            "usage": {"input_tokens": 1000, "output_tokens": 50}, "total_cost_usd": 0.01,
            "modelUsage": {"m": {"inputTokens": total, "outputTokens": 100}},
        }),
    ];
    let mut out = Vec::new();
    let clock = ZonedClock::at("2026-11-20T10:00:00Z");
    dialect.feed(events.map(event).concat().as_bytes(), &clock, &mut out);
    let usage = out.into_iter().find_map(|signal| match signal {
        AgentSignal::Usage { usage } => Some(usage),
        _ => None,
    });
    usage.expect("usage")
}

#[test]
fn a_version_that_sums_up_a_resumed_session_counts_each_turn_once() {
    let meter = Arc::new(TurnUsageMeter::default());
    let turn = |version: &str, meter: &Arc<TurnUsageMeter>, is_continued, total| {
        let meter = Arc::clone(meter);
        let used = used_in_turn(version, EarlierTurns { meter, is_continued }, total);
        (used.input_tokens, used.cost_usd, used.estimated)
    };
    assert_eq!(turn("2.1.277", &meter, false, 1200), (Some(1200), Some(0.01), false));
    assert_eq!(turn("2.1.277", &meter, true, 2300), (Some(1100), Some(0.0), false));
    assert_eq!(turn("2.1.276", &meter, true, 2300), (Some(2300), Some(0.01), false));
    // ralph was started anew since the earlier turns: the turn's tokens are known, and its cost by their share.
    let anew = Arc::default();
    assert_eq!(turn("3.0.0-beta", &anew, true, 2000), (Some(1000), Some(0.005), true));
    assert_eq!(turn("3.0.0", &anew, true, 2700), (Some(700), Some(0.0), false));
}

#[test]
fn a_turn_with_subagents_in_the_background_ends_after_the_turns_that_they_cause() {
    let [recording] = &recordings!("claude": "subagents-in-background")[..] else {
        unreachable!("there is one")
    };
    let told = signals(KIND, recording);
    let ends: Vec<_> = told
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::TurnEnded { .. }))
        .collect();
    let message = Some("Both are done.".to_owned());
    assert_eq!(ends, [&AgentSignal::TurnEnded { ok: true, message }]);
    let usage = told.iter().filter_map(|signal| match signal {
        AgentSignal::Usage { usage } => Some(*usage),
        _ => None,
    });
    // Five requests: two of the agent before, one after, one of each subagent.
    let sum = usage.fold(Usage::default(), Usage::plus);
    assert_eq!(sum.tokens(), Some(5 * 1_170));
}
