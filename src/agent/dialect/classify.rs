//! What kind of failure an error is. Structured fields first, the wording last.
//!
//! Only errors an agent reports as its own are given here, never what it quotes. An error that is not understood is
//! `Other`, which the loop retries with a delay: a wrong guess at something final would stop a run for nothing.

use serde_json::Value;

use crate::event::TEXT_CAP_BYTES;
use crate::event::{Problem, ProblemKind};

/// Classifies one error message as the agent put it, which may be the JSON body of an HTTP response.
pub(super) fn classify(message: &str) -> Problem {
    let body: Option<Value> = message
        .find('{')
        .and_then(|at| serde_json::from_str(message[at..].trim()).ok());
    let kind = body
        .as_ref()
        .and_then(from_body)
        .or_else(|| status_in(message).and_then(from_status))
        .or_else(|| from_wording(message))
        .unwrap_or(ProblemKind::Other);
    let text = body.as_ref().and_then(message_in).unwrap_or(message);
    Problem {
        kind,
        text: one_line(text),
    }
}

/// One line, capped; whatever is in it is for the caller to show safely.
pub(super) fn one_line(text: &str) -> String {
    crate::event::clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), TEXT_CAP_BYTES)
}

fn message_in(body: &Value) -> Option<&str> {
    ["/error/message", "/message", "/detail"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_str())
}

fn from_body(body: &Value) -> Option<ProblemKind> {
    let resets_at = ["/error/resets_at", "/resets_at"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_u64());
    let until_ms = resets_at.map(|seconds| seconds.saturating_mul(1000));
    let names = ["/error/code", "/code", "/error/type", "/error/status", "/type"];
    let by_name = names
        .iter()
        .find_map(|path| from_name(body.pointer(path)?.as_str()?, until_ms));
    let numbers = ["/status", "/error/status", "/error/code", "/statusCode"];
    by_name.or_else(|| {
        numbers
            .iter()
            .find_map(|path| from_status(u16::try_from(body.pointer(path)?.as_u64()?).ok()?))
    })
}

/// The names that model APIs give their errors.
fn from_name(name: &str, until_ms: Option<u64>) -> Option<ProblemKind> {
    Some(match name {
        "invalid_api_key" | "authentication_error" | "permission_error" | "UNAUTHENTICATED" | "PERMISSION_DENIED" => {
            ProblemKind::Auth
        }
        "model_not_found" | "not_found_error" | "NOT_FOUND" => ProblemKind::ModelUnknown,
        "rate_limit_exceeded" | "rate_limit_error" | "RESOURCE_EXHAUSTED" => ProblemKind::RateLimited { until_ms },
        "usage_limit_reached" | "insufficient_quota" | "billing_error" => ProblemKind::QuotaExhausted { until_ms },
        "context_length_exceeded" => ProblemKind::ContextOverflow,
        "overloaded_error"
        | "server_is_overloaded"
        | "slow_down"
        | "server_error"
        | "api_error"
        | "UNAVAILABLE"
        | "INTERNAL" => ProblemKind::Overloaded,
        _ => return None,
    })
}

fn from_status(status: u16) -> Option<ProblemKind> {
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
    // Where it is said first: what follows it is the body, which may say anything.
    let after = message.split_once("status")?.1;
    let digits = after.trim_start_matches([' ', ':', '=']);
    let end = digits
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|status| (400..600).contains(status))
}

/// What agents say in words, in lower case with plain apostrophes; the first that fits decides.
const WORDINGS: &[(ProblemKind, &[&str])] = &[
    (
        ProblemKind::QuotaExhausted { until_ms: None },
        &[
            "hit your usage limit",
            "quota exceeded",
            "exceeded your current quota",
            "credit balance is too low",
        ],
    ),
    (
        ProblemKind::ContextOverflow,
        &[
            "ran out of room in the model's context window",
            "context length",
            "context window",
            "prompt is too long",
        ],
    ),
    (
        ProblemKind::Auth,
        &[
            "missing environment variable",
            "not logged in",
            "please run /login",
            "codex login",
            "invalid api key",
            "incorrect api key",
            "401 unauthorized",
            "403 forbidden",
            "access token could not be refreshed",
            "refresh token",
        ],
    ),
    (
        ProblemKind::SessionLost,
        &[
            "no rollout found for thread id",
            "session not found",
            "no conversation found",
        ],
    ),
    (
        ProblemKind::ModelUnknown,
        &[
            "does not exist or you do not have access to it",
            "model not found",
            "unknown model",
        ],
    ),
    (
        ProblemKind::RateLimited { until_ms: None },
        &["rate limit", "too many requests"],
    ),
    (
        ProblemKind::Overloaded,
        &["high demand", "overloaded", "at capacity", "internal server error"],
    ),
    (
        ProblemKind::Network,
        &[
            "stream disconnected",
            "connection refused",
            "connection reset",
            "connection failed",
            "waiting for network",
            "error sending request",
            "transport error",
            "network error",
            "dns error",
            "timed out",
            "timeout",
        ],
    ),
];

/// How programs complain about their command line, or about their configuration. Only when they end with it: a model
/// API may call anything invalid.
const REFUSALS: [&str; 8] = [
    "unexpected argument",
    "unrecognized subcommand",
    "invalid value",
    "required arguments were not provided",
    "a value is required",
    "not inside a trusted directory",
    "error loading config",
    "error parsing -c",
];

/// Classifies the error that a program ended with.
pub(super) fn classify_last(error: &str) -> Problem {
    let problem = classify(error);
    let refused = REFUSALS.iter().any(|wording| error.to_lowercase().contains(wording));
    match problem.kind {
        ProblemKind::Other if refused => Problem {
            kind: ProblemKind::Usage,
            ..problem
        },
        _ => problem,
    }
}

fn from_wording(message: &str) -> Option<ProblemKind> {
    let said = message.replace('’', "'").to_lowercase();
    WORDINGS
        .iter()
        .find(|(_, wordings)| wordings.iter().any(|wording| said.contains(wording)))
        .map(|(kind, _)| *kind)
}

/// The error a program ended with, from the last lines it wrote to stderr: what it printed as its own failure, not
/// what it logged while it worked.
pub(super) fn last_error(stderr: &str) -> Option<&str> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = |line: &&str| {
        let start = line.get(..6).unwrap_or_default();
        start.eq_ignore_ascii_case("error:") || start.eq_ignore_ascii_case("fatal:")
    };
    lines().rfind(fatal).or_else(|| lines().rfind(|line| !is_log(line)))
}

/// Whether a line was logged: it begins with a time, or with a level that is none of an error.
fn is_log(line: &str) -> bool {
    let year = line.bytes().take_while(u8::is_ascii_digit).count() == 4 && line.as_bytes().get(4) == Some(&b'-');
    year || ["WARNING:", "warning:", "INFO", "DEBUG", "Reading "]
        .iter()
        .any(|level| line.starts_with(level))
}

#[cfg(test)]
mod tests {
    use super::*;

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
                quota,
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
            ("something new", ProblemKind::Other),
        ] {
            assert_eq!(classify(message).kind, kind, "{message}");
        }
    }

    #[test]
    fn a_refused_command_line_is_told_from_a_refused_request() {
        for error in [
            "Not inside a trusted directory and --skip-git-repo-check was not specified.",
            "error: unexpected argument '--nope' found",
            "Error loading config.toml: unknown variant",
        ] {
            assert_eq!(classify_last(error).kind, ProblemKind::Usage, "{error}");
            assert_eq!(classify(error).kind, ProblemKind::Other, "{error}");
        }
        assert_eq!(
            classify_last("Error: 401 Unauthorized: invalid value").kind,
            ProblemKind::Auth
        );
    }

    #[test]
    fn fields_of_a_json_body_come_before_the_wording() {
        let body = r#"unexpected status 400 Bad Request: {"error":{"code":"context_length_exceeded","message":"rate limit 401"}}"#;
        let problem = classify(body);
        assert_eq!(
            problem,
            Problem {
                kind: ProblemKind::ContextOverflow,
                text: "rate limit 401".to_owned()
            }
        );
        let body = r#"{"error":{"type":"usage_limit_reached","resets_at":1795200000,"message":"limit"}}"#;
        assert_eq!(
            classify(body).kind,
            ProblemKind::QuotaExhausted {
                until_ms: Some(1_795_200_000_000)
            }
        );
        assert_eq!(classify(r#"{"status":529,"detail":"x"}"#).kind, ProblemKind::Overloaded);
    }

    #[test]
    fn a_status_counts_only_where_it_is_said_first() {
        assert_eq!(status_in("unexpected status 500: body has status 401"), Some(500));
        assert_eq!(status_in("status: fine"), None);
        assert_eq!(status_in("no such word"), None);
    }

    #[test]
    fn the_last_error_of_stderr_is_not_what_was_logged() {
        let stderr =
            "WARNING: proceeding\nError: it broke\n2026-11-20T09:17:11Z ERROR core: 401 Unauthorized\nReading more";
        assert_eq!(last_error(stderr), Some("Error: it broke"));
        assert_eq!(last_error("WARNING: a\n2026-11-20T09:17:11Z ERROR x\n"), None);
        assert_eq!(
            last_error("usage\nNot inside a trusted directory\n\n"),
            Some("Not inside a trusted directory")
        );
    }
}
