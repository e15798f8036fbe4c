//! Failures of requests to a model, and whether they are retried.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// Longer waits end the turn: the client shows them, and the user can continue earlier.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Most bytes of a server's error message.
const TEXT_CAP_BYTES: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureClass {
    /// The key is missing or refused.
    Auth,
    /// The model does not exist, or the address has no API.
    Model,
    /// Too many requests at present.
    Limit,
    /// The quota is exhausted.
    Quota,
    /// The conversation is too long for the model.
    Overflow,
    /// The server has an internal problem.
    Server,
    /// The server could not be reached, or the connection broke during the response.
    Network,
    /// The request itself was refused.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiFailure {
    pub(super) class: FailureClass,
    pub(super) text: String,
    /// The wait that the server asks for.
    pub(super) retry_after: Option<Duration>,
}

impl ApiFailure {
    pub(super) fn new(class: FailureClass, text: impl Into<String>) -> Self {
        Self {
            class,
            text: text.into(),
            retry_after: None,
        }
    }

    /// Classifies a response with an error status.
    pub(super) fn from_response(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let (names, said) = parse_error(body);
        let class = class_by_name(&names)
            .or_else(|| is_overflow(&said).then_some(FailureClass::Overflow))
            .or_else(|| class_by_status(status))
            .unwrap_or(FailureClass::Refused);
        let wait = retry_after.map_or_else(String::new, |wait| format!(", retry after {}s", wait.as_secs()));
        let said = if said.is_empty() {
            String::new()
        } else {
            format!(": {said}")
        };
        Self {
            class,
            // The status is left out: the client would classify 429 as a rate limit.
            text: match class {
                FailureClass::Quota => format!("the quota of the API is exhausted{said}"),
                FailureClass::Overflow => format!("the conversation does not fit the model's context window{said}"),
                _ => format!("status {status}{wait}{said}"),
            },
            retry_after,
        }
    }

    /// Classifies an error event in a stream.
    pub(super) fn from_event(body: &Value) -> Self {
        let (names, said) = parse_error(&body.to_string());
        let class = class_by_name(&names)
            .or_else(|| is_overflow(&said).then_some(FailureClass::Overflow))
            .unwrap_or(FailureClass::Server);
        Self::new(class, format!("the answer broke off: {said}"))
    }

    /// The pause before retry number `attempt`, counted from 0; `None` if the request should not be retried.
    pub(super) fn pause(&self, attempt: u32) -> Option<Duration> {
        match self.class {
            FailureClass::Limit | FailureClass::Server | FailureClass::Network => {}
            FailureClass::Auth
            | FailureClass::Model
            | FailureClass::Quota
            | FailureClass::Overflow
            | FailureClass::Refused => return None,
        }
        match self.retry_after {
            Some(wait) if wait > LONGEST_WAIT => None,
            Some(wait) => Some(wait),
            None => Some(Duration::from_secs(1 << attempt.min(5))),
        }
    }

    /// Whether the API does not take back the reasoning in the conversation: another model wrote it, or another account.
    pub(super) fn refuses_reasoning(&self) -> bool {
        let words = [
            "encrypted content",
            "encrypted_content",
            "`signature` in `thinking`",
            "reasoning_content",
        ];
        self.class == FailureClass::Refused && words.iter().any(|words| self.text.contains(words))
    }

    /// The JSON-RPC error code for the client. ralph's client reads it as the HTTP status of the class; other ACP
    /// clients show the text.
    pub(super) fn code(&self) -> i64 {
        match self.class {
            FailureClass::Auth => 401,
            FailureClass::Quota => 402,
            FailureClass::Model => 404,
            FailureClass::Overflow => 413,
            FailureClass::Limit => 429,
            FailureClass::Server => 503,
            FailureClass::Network | FailureClass::Refused => -32603,
        }
    }
}

/// The window of the model, in tokens, if the error of an overflow names it.
pub(super) fn window_of(said: &str) -> Option<u64> {
    let pattern =
        r"(?i)(?:context length (?:is|of)|context window (?:is|of)|context size(?: of| is|:)?|\(|>) *(\d{4,8})\b";
    let found = regex_lite::Regex::new(pattern).ok()?.captures(said)?;
    found.get(1)?.as_str().parse().ok()
}

/// The wait that a response's headers ask for.
pub(super) fn retry_after(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let text = header("retry-after")?;
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp();
    // A time in the past means no wait.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

/// The error names in `body`, and its message.
fn parse_error(body: &str) -> (Vec<String>, String) {
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        return (Vec::new(), one_line(body));
    };
    // Some servers wrap the error in a list.
    let body = body.get(0).unwrap_or(&body);
    let error = match &body["error"] {
        Value::Null => body,
        error => error,
    };
    let names = ["code", "type", "status"].map(|key| error[key].as_str().unwrap_or_default().to_owned());
    let words = [&error["message"], error, &body["message"], &body["detail"]];
    let words = words.into_iter().find_map(Value::as_str).map(one_line);
    (names.into(), words.unwrap_or_default())
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    ralph_core::event::clip(&text, TEXT_CAP_BYTES)
}

fn class_by_name(names: &[String]) -> Option<FailureClass> {
    names.iter().find_map(|name| {
        Some(match name.as_str() {
            "invalid_api_key" | "authentication_error" | "permission_error" | "UNAUTHENTICATED" => FailureClass::Auth,
            "model_not_found" | "not_found_error" => FailureClass::Model,
            "insufficient_quota" | "billing_error" => FailureClass::Quota,
            "rate_limit_exceeded" | "rate_limit_error" => FailureClass::Limit,
            "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => FailureClass::Overflow,
            _ => return None,
        })
    })
}

fn class_by_status(status: u16) -> Option<FailureClass> {
    Some(match status {
        401 | 403 => FailureClass::Auth,
        402 => FailureClass::Quota,
        404 => FailureClass::Model,
        413 => FailureClass::Overflow,
        429 => FailureClass::Limit,
        408 | 409 | 425 | 500..=599 => FailureClass::Server,
        _ => return None,
    })
}

/// Whether a message says that the conversation is too long; servers have no common error name for that.
fn is_overflow(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "context length",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "maximum number of tokens",
    ]
    .iter()
    .any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_classed_by_names_then_words_then_status() {
        for (status, body, class) in [
            (401, "", FailureClass::Auth),
            (403, "nginx", FailureClass::Auth),
            (
                404,
                r#"{"error":{"message":"model 'x' not found","type":"api_error"}}"#,
                FailureClass::Model,
            ),
            (
                404,
                r#"{"error":{"type":"not_found_error","message":"model: x"}}"#,
                FailureClass::Model,
            ),
            (404, "404 page not found", FailureClass::Model),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
                FailureClass::Quota,
            ),
            (
                429,
                r#"[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]"#,
                FailureClass::Limit,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
                FailureClass::Overflow,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9"}}"#,
                FailureClass::Overflow,
            ),
            (400, r#"{"error":"does not support tools"}"#, FailureClass::Refused),
            (413, "<html>", FailureClass::Overflow),
            (529, "{}", FailureClass::Server),
        ] {
            assert_eq!(
                ApiFailure::from_response(status, body, None).class,
                class,
                "{status} {body}"
            );
        }
        let quota = ApiFailure::from_response(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, None);
        assert_eq!(quota.text, "the quota of the API is exhausted: pay");
    }

    #[test]
    fn an_overflow_tells_the_window_in_the_words_of_each_server() {
        for (said, window) in [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000",
                Some(8192),
            ),
            ("prompt is too long: 208310 tokens > 200000 maximum", Some(200_000)),
            (
                "the request exceeds the available context size (4096 tokens)",
                Some(4096),
            ),
            ("20000 tokens exceed the context window of 16000", Some(16_000)),
            ("too long", None),
            ("context length is 99999999999", None),
        ] {
            assert_eq!(window_of(said), window, "{said}");
        }
    }

    #[test]
    fn a_wait_is_seconds_milliseconds_or_a_date() {
        let now: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
        let wait = |name: &str, value: &str| retry_after(|asked| (asked == name).then(|| value.to_owned()), now);
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after", "1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(wait("retry-after-ms", "20"), Some(Duration::from_millis(20)));
        assert_eq!(
            wait("retry-after", "Fri, 20 Nov 2026 10:01:00 GMT"),
            Some(Duration::from_secs(60))
        );
        assert_eq!(
            wait("retry-after", "Fri, 20 Nov 2026 09:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for nonsense in ["-1", "soon", "NaN", "1e300", ""] {
            assert_eq!(wait("retry-after", nonsense), None, "{nonsense}");
        }
        assert_eq!(wait("other", "7"), None);
    }

    #[test]
    fn only_what_passes_is_tried_again_and_no_long_wait_is_slept_through() {
        let failure = |class, seconds: Option<u64>| ApiFailure {
            retry_after: seconds.map(Duration::from_secs),
            ..ApiFailure::new(class, "")
        };
        assert_eq!(
            failure(FailureClass::Limit, None).pause(0),
            Some(Duration::from_secs(1))
        );
        assert_eq!(
            failure(FailureClass::Server, None).pause(2),
            Some(Duration::from_secs(4))
        );
        assert_eq!(
            failure(FailureClass::Network, None).pause(99),
            Some(Duration::from_secs(32))
        );
        assert_eq!(
            failure(FailureClass::Limit, Some(60)).pause(0),
            Some(Duration::from_secs(60))
        );
        assert_eq!(failure(FailureClass::Limit, Some(61)).pause(0), None);
        for class in [
            FailureClass::Auth,
            FailureClass::Model,
            FailureClass::Quota,
            FailureClass::Overflow,
            FailureClass::Refused,
        ] {
            assert_eq!(failure(class, None).pause(0), None, "{class:?}");
        }
    }
}
