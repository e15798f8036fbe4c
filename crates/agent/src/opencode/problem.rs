//! Classifies the server's errors for the loop. Pure.

use ralph_core::event::{Problem, ProblemKind};
use ralph_text::with_causes;
use serde_json::Value;

use crate::dialect::{ZonedClock, classify, is_denial, one_line, problem_of, short_input};

use super::ServerError;

/// Longer waits of the server before a retry end the turn: ralph itself waits visibly, with a countdown, and without an
/// iteration that runs out of time.
const LONG_WAIT_MS: u64 = 60_000;

/// Classifies an error of a session.
pub(super) fn problem_from_error(error: &Value, clock: &ZonedClock) -> Problem {
    let mut problem = problem_of(error, clock);
    let said = error
        .pointer("/data/message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if problem.kind == ProblemKind::Other && said.starts_with("Agent not found") {
        problem.kind = ProblemKind::Usage;
    }
    problem
}

/// The problem behind a retry at `next_ms`, if that is too far away to wait for it.
pub(super) fn long_wait(message: &str, next_ms: Option<u64>, clock: &ZonedClock) -> Option<Problem> {
    let until_ms = next_ms.filter(|next_ms| next_ms.saturating_sub(clock.now_ms) > LONG_WAIT_MS);
    until_ms?;
    let problem = classify(message, clock);
    let kind = match problem.kind {
        ProblemKind::QuotaExhausted { .. } => ProblemKind::QuotaExhausted { until_ms },
        _ => ProblemKind::RateLimited { until_ms },
    };
    Some(Problem { kind, ..problem })
}

/// The denied tool use, if a denial is why the tool failed.
pub(super) fn denial(part: &Value) -> Option<String> {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let denied = text("/state/status") == "error" && is_denial(text("/state/error"));
    denied.then(|| one_line(&format!("{} ({})", text("/tool"), short_input(&part["state"]["input"]))))
}

/// Classifies a failure of a server.
pub(super) fn problem_from_server(error: &ServerError) -> Problem {
    let kind = match error {
        ServerError::Unreachable { .. } | ServerError::TimedOut { .. } => ProblemKind::Network,
        ServerError::Unauthorized { .. } => ProblemKind::Auth,
        ServerError::TooNew { .. } => ProblemKind::Usage,
        ServerError::NotStarted { .. } | ServerError::NotReady { .. } => ProblemKind::Crashed,
        ServerError::Client { .. } | ServerError::Foreign { .. } | ServerError::Refused { .. } => ProblemKind::Other,
    };
    let hints = error.hints().into_iter();
    Problem::said(
        kind,
        hints.fold(with_causes(error), |text, hint| format!("{text}; {hint}")),
    )
}
