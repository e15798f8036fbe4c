//! Classifies errors of agents. Structured fields take precedence over the wording.
//!
//! The input is only what an agent reports as its own error, never text that it quotes. An error that is not recognised
//! is `Other`, which the loop retries after a delay: a wrong guess at a permanent error would stop the run needlessly.

use ralph_core::event::{Problem, ProblemClass, ProblemKind, TEXT_CAP_BYTES};
use serde_json::Value;

use super::{
    clock::ZonedClock,
    reset::{until_in_fields, until_in_text},
    wording::{REFUSALS, from_wording},
};

/// Classifies one error message as the agent put it, which may be the JSON body of an HTTP response.
pub(crate) fn classify(message: &str, clock: &ZonedClock) -> Problem {
    let body: Option<Value> = message
        .find('{')
        .and_then(|at| serde_json::from_str(message[at..].trim()).ok());
    let kind = body
        .as_ref()
        .and_then(|body| from_body(body, clock))
        .or_else(|| status_in(message).and_then(from_status))
        .or_else(|| from_wording(message))
        .unwrap_or(ProblemKind::Other);
    let text = body.as_ref().and_then(message_in).unwrap_or(message);
    Problem::said(with_time(kind, || until_in_text(text, clock)), one_line(text))
}

/// Classifies an error message that may come with the HTTP status of a response.
pub(crate) fn classify_answer(message: &str, status: Option<u16>, clock: &ZonedClock) -> Problem {
    let problem = classify(message, clock);
    match (problem.kind, status.and_then(from_status)) {
        (ProblemKind::Other, Some(kind)) => Problem {
            kind: with_time(kind, || until_in_text(&problem.text, clock)),
            ..problem
        },
        (_, _) => problem,
    }
}

/// Classifies the error with which a program ended.
pub(super) fn classify_last(error: &str, clock: &ZonedClock) -> Problem {
    let problem = classify(error, clock);
    let refused = REFUSALS.iter().any(|wording| error.to_lowercase().contains(wording));
    match problem.kind {
        ProblemKind::Other if refused => Problem {
            kind: ProblemKind::Usage,
            ..problem
        },
        _ => problem,
    }
}

/// Joins a text into one line and caps it. The caller escapes control characters for display.
pub(crate) fn one_line(text: &str) -> String {
    ralph_core::event::clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), TEXT_CAP_BYTES)
}

/// Adds the time at which the problem ends, if its kind has one and it is still unknown.
pub(crate) fn with_time(kind: ProblemKind, until: impl FnOnce() -> Option<u64>) -> ProblemKind {
    match kind {
        ProblemKind::RateLimited { until_ms: None } => ProblemKind::RateLimited { until_ms: until() },
        ProblemKind::QuotaExhausted { until_ms: None } => ProblemKind::QuotaExhausted { until_ms: until() },
        kind => kind,
    }
}

/// The kind that is reported for a request that the agent repeats: a transient problem, or a refused login.
pub(crate) fn repeated(kind: ProblemKind) -> Option<ProblemKind> {
    (is_transient(kind) || kind == ProblemKind::Auth).then_some(kind)
}

/// Whether the problem can pass by waiting.
pub(super) fn is_transient(kind: ProblemKind) -> bool {
    matches!(kind.class(), ProblemClass::Limit { .. } | ProblemClass::Outage)
}

fn message_in(body: &Value) -> Option<&str> {
    ["/error/message", "/message", "/detail"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_str())
}

fn from_body(body: &Value, clock: &ZonedClock) -> Option<ProblemKind> {
    let names = ["/error/code", "/code", "/error/type", "/error/status", "/type"];
    let by_name = names.iter().find_map(|path| from_name(body.pointer(path)?.as_str()?));
    let numbers = ["/status", "/error/status", "/error/code", "/statusCode"];
    let kind = by_name.or_else(|| {
        numbers
            .iter()
            .find_map(|path| from_status(u16::try_from(body.pointer(path)?.as_u64()?).ok()?))
    })?;
    Some(with_time(kind, || until_in_fields(body, clock)))
}

/// Maps the error names of model APIs and agents to a kind.
pub(super) fn from_name(name: &str) -> Option<ProblemKind> {
    Some(match name {
        "invalid_api_key"
        | "authentication_error"
        | "authentication_failed"
        | "oauth_org_not_allowed"
        | "permission_error"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED" => ProblemKind::Auth,
        "model_not_found" | "not_found_error" | "NOT_FOUND" => ProblemKind::ModelUnknown,
        "rate_limit_exceeded" | "rate_limit_error" | "rate_limit" | "RESOURCE_EXHAUSTED" => {
            ProblemKind::RateLimited { until_ms: None }
        }
        "usage_limit_reached" | "insufficient_quota" | "billing_error" => {
            ProblemKind::QuotaExhausted { until_ms: None }
        }
        "context_length_exceeded" => ProblemKind::ContextOverflow,
        "overloaded_error"
        | "overloaded"
        | "server_is_overloaded"
        | "slow_down"
        | "server_error"
        | "api_error"
        | "UNAVAILABLE"
        | "INTERNAL" => ProblemKind::Overloaded,
        _ => return None,
    })
}

pub(crate) fn from_status(status: u16) -> Option<ProblemKind> {
    Some(match status {
        401 | 403 => ProblemKind::Auth,
        402 => ProblemKind::QuotaExhausted { until_ms: None },
        404 => ProblemKind::ModelUnknown,
        413 => ProblemKind::ContextOverflow,
        429 => ProblemKind::RateLimited { until_ms: None },
        500..=599 => ProblemKind::Overloaded,
        _ => return None,
    })
}

/// The HTTP status in `unexpected status 401 Unauthorized` or `last status: 429 Too Many Requests`.
fn status_in(message: &str) -> Option<u16> {
    // The first occurrence counts: the body follows it and may contain anything.
    let after = message.split_once("status")?.1;
    let digits = after.trim_start_matches([' ', ':', '=']);
    let end = digits
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> ZonedClock {
        ZonedClock::at("2026-11-20T10:00:00Z")
    }

    #[test]
    fn messages_of_codex_are_classified() {
        let quota = ProblemKind::QuotaExhausted { until_ms: None };
        let limited = ProblemKind::RateLimited { until_ms: None };
        for (message, kind) in [
            (
                "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:1/v1/responses",
                ProblemKind::Auth,
            ),
            ("unexpected status 403 Forbidden: no", ProblemKind::Auth),
            ("Missing environment variable: `STANDIN_KEY`.", ProblemKind::Auth),
            (
                "The model `x` does not exist or you do not have access to it.",
                ProblemKind::ModelUnknown,
            ),
            ("exceeded retry limit, last status: 429 Too Many Requests", limited),
            (
                "You’ve hit your usage limit. Visit https://x or try again at 6:40 PM.",
                ProblemKind::QuotaExhausted {
                    until_ms: Some(1_795_192_800_000),
                },
            ),
            ("Quota exceeded. Check your plan and billing details.", quota),
            (
                "Codex ran out of room in the model's context window. Start a new thread.",
                ProblemKind::ContextOverflow,
            ),
            (
                "We’re currently experiencing high demand, which may cause temporary errors.",
                ProblemKind::Overloaded,
            ),
            ("unexpected status 503 Service Unavailable: x", ProblemKind::Overloaded),
            (
                "exceeded retry limit, last status: 529 <unknown status code>",
                ProblemKind::Overloaded,
            ),
            (
                "stream disconnected before completion: Transport error: network error",
                ProblemKind::Network,
            ),
            (
                "Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)",
                ProblemKind::SessionLost,
            ),
            (
                "Error: Model \"x/y\" not found. Use --list-models to see available models.",
                ProblemKind::ModelUnknown,
            ),
            ("something new", ProblemKind::Other),
        ] {
            assert_eq!(classify(message, &clock()).kind, kind, "{message}");
        }
    }

    #[test]
    fn fields_of_a_json_body_come_before_the_wording() {
        let body = r#"unexpected status 400 Bad Request: {"error":{"code":"context_length_exceeded","message":"rate limit 401"}}"#;
        let problem = classify(body, &clock());
        assert_eq!(problem, Problem::said(ProblemKind::ContextOverflow, "rate limit 401"));
        let body = r#"{"error":{"type":"usage_limit_reached","resets_at":1795200000,"message":"limit"}}"#;
        assert_eq!(
            classify(body, &clock()).kind,
            ProblemKind::QuotaExhausted {
                until_ms: Some(1_795_200_000_000)
            }
        );
        assert_eq!(
            classify(r#"{"status":529,"detail":"x"}"#, &clock()).kind,
            ProblemKind::Overloaded
        );
    }

    #[test]
    fn a_status_counts_only_where_it_is_said_first() {
        assert_eq!(status_in("unexpected status 500: body has status 401"), Some(500));
        assert_eq!(status_in("status: fine"), None);
        assert_eq!(status_in("no such word"), None);
    }

    #[test]
    fn a_refused_command_line_is_told_from_a_refused_request() {
        for error in [
            "Not inside a trusted directory and --skip-git-repo-check was not specified.",
            "error: unexpected argument '--nope' found",
            "Error loading config.toml: unknown variant",
        ] {
            assert_eq!(classify_last(error, &clock()).kind, ProblemKind::Usage, "{error}");
            assert_eq!(classify(error, &clock()).kind, ProblemKind::Other, "{error}");
        }
        assert_eq!(
            classify_last("Error: 401 Unauthorized: invalid value", &clock()).kind,
            ProblemKind::Auth
        );
    }
}
