//! Classifies failed turns: a JSON-RPC error, or a stop reason.

use ralph_core::event::{Problem, ProblemKind};
use serde_json::Value;

use crate::dialect::{ZonedClock, classify_answer, one_line, text};

/// The error code with which an agent reports that no user is logged in.
const AUTH_REQUIRED: i64 = -32000;

/// Classifies an error response of the agent. Some agents use the HTTP status of a failed request as the code.
pub(super) fn problem_from_error(error: &Value, clock: &ZonedClock) -> Problem {
    let code = error["code"].as_i64();
    let status = code.and_then(|code| u16::try_from(code).ok());
    let said = match text(error, "/message") {
        "" => "the agent answers with an error and does not say why",
        said => said,
    };
    let problem = classify_answer(said, status, clock);
    let details = ["/data/details", "/data/message"]
        .into_iter()
        .map(|pointer| text(error, pointer))
        .find(|details| !details.is_empty());
    match (problem.kind, code, details) {
        (ProblemKind::Other, Some(AUTH_REQUIRED), _) => Problem {
            kind: ProblemKind::Auth,
            ..problem
        },
        (ProblemKind::Other, _, Some(details)) => {
            let of_details = classify_answer(details, None, clock);
            Problem::said(
                of_details.kind,
                one_line(&format!("{}: {}", problem.text, of_details.text)),
            )
        }
        (_, _, _) => problem,
    }
}

/// The problem of a turn that stopped for `reason`; `None` if it succeeded.
pub(super) fn problem_from_stop(reason: &str) -> Option<Problem> {
    let (kind, text) = match reason {
        "end_turn" => return None,
        "cancelled" => (ProblemKind::Other, "the turn was cancelled".to_owned()),
        "refusal" => (ProblemKind::Other, "the agent refuses to go on".to_owned()),
        "max_tokens" => (
            ProblemKind::Other,
            "the model stopped before it was done (max_tokens)".to_owned(),
        ),
        "max_turn_requests" => (
            ProblemKind::TurnLimit,
            "the agent has made as many requests as a turn may have".to_owned(),
        ),
        other => {
            let text = format!("the turn stopped for an unknown reason ({})", one_line(other));
            (ProblemKind::Other, text)
        }
    };
    Some(Problem::said(kind, text))
}
