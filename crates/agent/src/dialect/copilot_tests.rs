use ralph_core::event::{Exit, ProblemKind};
use serde_json::json;

use crate::dialect::{
    DialectKind,
    recordings_tests::{OK, RecordedSession, assert_problems, problem, recordings, tests_of_recordings},
};

const KIND: DialectKind = DialectKind::CopilotJson;

/// Recordings of copilot 1.0.102, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "copilot": "bad-flag" "cut" "http401" "http429" "http429x2" "http500" "resume-1" "resume-2" "resume-bad" "sig-SIGINT"
        "sig-SIGTERM" "stream_error" "success" "toolfail"
    }
}

tests_of_recordings!(KIND, "copilot");

#[test]
fn every_way_to_fail_is_told_from_the_others() {
    let kinds = [
        ProblemKind::Auth,
        ProblemKind::RateLimited { until_ms: None },
        ProblemKind::Overloaded,
        ProblemKind::Overloaded,
        ProblemKind::Network,
        ProblemKind::SessionLost,
        ProblemKind::Usage,
        ProblemKind::Crashed,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "copilot": "http401" "http429" "http500" "stream_error" "cut" "resume-bad" "bad-flag" "sig-SIGINT" "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let quoted = "Error: Authentication failed with provider (HTTP 401)";
    let said = json!({"type": "assistant.message", "data": {"content": quoted}});
    let end = json!({"type": "result", "exitCode": 0});
    let good = RecordedSession::made_up(&format!("{said}\n{end}\n"), "", OK);
    assert_eq!(problem(KIND, &good), None);
    let cut = RecordedSession::made_up(&format!("{said}\n"), "", Exit::Code { code: 1 });
    assert_eq!(
        problem(KIND, &cut).map(|problem| problem.kind),
        Some(ProblemKind::Crashed)
    );
}

#[test]
fn a_turn_that_was_aborted_is_no_success_whatever_its_result_says() {
    let abort = json!({"type": "abort", "data": {"reason": "user_initiated"}});
    let end = json!({"type": "result", "exitCode": 0});
    let aborted = RecordedSession::made_up(&format!("{abort}\n{end}\n"), "", Exit::Signal { signal: 15 });
    assert_eq!(
        problem(KIND, &aborted).map(|problem| problem.kind),
        Some(ProblemKind::Crashed)
    );
}
