use ralph_core::event::{Exit, ProblemKind};
use serde_json::json;

use crate::dialect::{
    DialectKind,
    recordings_tests::{OK, RecordedSession, assert_problems, problem, recordings, tests_of_recordings},
};

const KIND: DialectKind = DialectKind::PiJson;

/// Recordings of pi 0.87.1, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "pi": "bad-flag" "cut" "http401" "http429" "http429x2" "http500" "resume-1" "resume-2" "resume-bad" "sig-SIGINT"
        "sig-SIGTERM" "stream_error" "success" "toolfail"
    }
}

tests_of_recordings!(KIND, "pi");

#[test]
fn every_way_to_fail_is_told_from_the_others() {
    let kinds = [
        ProblemKind::Auth,
        ProblemKind::RateLimited { until_ms: None },
        ProblemKind::Overloaded,
        ProblemKind::Other,
        ProblemKind::Network,
        ProblemKind::SessionLost,
        ProblemKind::Usage,
        ProblemKind::Crashed,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "pi": "http401" "http429" "http500" "stream_error" "cut" "resume-bad" "bad-flag" "sig-SIGINT" "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

#[test]
fn what_an_agent_quotes_is_not_taken_for_an_error() {
    let content = json!([{"type": "text", "text": "401: {\"code\":\"invalid_api_key\"}"}]);
    let said = json!({"type": "message_end", "message": {"role": "assistant", "content": content}});
    let end = json!({"type": "agent_settled"});
    let good = RecordedSession::made_up(&format!("{said}\n{end}\n"), "", OK);
    assert_eq!(problem(KIND, &good), None);
    let cut = RecordedSession::made_up(&format!("{said}\n"), "", Exit::Code { code: 1 });
    assert_eq!(
        problem(KIND, &cut).map(|problem| problem.kind),
        Some(ProblemKind::Crashed)
    );
}
