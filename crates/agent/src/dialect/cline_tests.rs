use ralph_core::event::{Exit, ProblemKind};
use serde_json::json;

use crate::dialect::{
    DialectKind,
    recordings_tests::{OK, RecordedSession, assert_problems, problem, recordings, tests_of_recordings},
};

const KIND: DialectKind = DialectKind::ClineJson;

/// Recordings of cline 3.0.65, one for each situation.
fn all() -> Vec<RecordedSession> {
    recordings! {
        "cline": "bad-flag" "cut" "http401" "http429" "http429x2" "http500" "resume-2" "sig-SIGINT" "sig-SIGTERM" "stream_error"
        "success" "toolfail"
    }
}

tests_of_recordings!(KIND, "cline");

#[test]
fn every_way_to_fail_is_told_from_the_others() {
    let kinds = [
        ProblemKind::Auth,
        ProblemKind::RateLimited { until_ms: None },
        ProblemKind::Overloaded,
        ProblemKind::Other,
        ProblemKind::Network,
        ProblemKind::Usage,
        ProblemKind::Crashed,
        ProblemKind::Crashed,
    ];
    let recordings = recordings! {
        "cline": "http401" "http429" "http500" "stream_error" "cut" "bad-flag" "sig-SIGINT" "sig-SIGTERM"
    };
    assert_eq!(recordings.len(), kinds.len());
    assert_problems(KIND, &recordings.into_iter().zip(kinds).collect::<Vec<_>>());
}

#[test]
fn a_turn_that_ends_otherwise_than_completed_has_failed() {
    let result = |reason: &str| json!({"type": "run_result", "finishReason": reason, "text": "", "model": {"id": "m"}});
    let ended = |reason: &str| RecordedSession::made_up(&format!("{}\n", result(reason)), "", OK);
    assert_eq!(problem(KIND, &ended("completed")), None);
    let aborted = problem(KIND, &ended("aborted")).expect("a problem");
    assert_eq!(aborted.kind, ProblemKind::Crashed);
    let limit = problem(KIND, &ended("max_iterations")).expect("a problem");
    assert_eq!(limit.text.as_str(), "cline ended its turn: max_iterations");
    let cut = RecordedSession::made_up("", "", Exit::Code { code: 0 });
    assert_eq!(
        problem(KIND, &cut).map(|problem| problem.kind),
        Some(ProblemKind::Crashed)
    );
}
