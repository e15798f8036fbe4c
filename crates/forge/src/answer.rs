//! Parses the output of `gh api --include`: the forge's answer, or an error that says whether to try again. Pure.

use ralph_text::one_line;
use serde_json::Value;
use thiserror::Error;

/// Most characters that are repeated of an error message of the forge.
const SAID: usize = 300;

/// The time to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// After the usual growing delay.
    Later,
    /// After this time, which the forge named.
    AfterMs(u64),
}

/// An error of the forge.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForgeError {
    #[error("`{program}` is not installed")]
    NoProgram { program: &'static str },
    #[error("{host} does not answer: {why}")]
    Unreachable { host: String, why: String },
    #[error("{host} has its own trouble (HTTP {status})")]
    Failing { host: String, status: u16 },
    #[error("{host} allows no more requests for now")]
    Limited { host: String, after_ms: Option<u64> },
    #[error("`gh` is not logged in to {host}")]
    NotLoggedIn { host: String },
    #[error("{host} does not accept the token of `gh`: it has expired or was revoked")]
    TokenRefused { host: String },
    #[error("{host} has no {what}, or the token of `gh` may not see it")]
    NotFound { host: String, what: String },
    #[error("{host} refuses it (HTTP {status}): {why}")]
    Refused { host: String, status: u16, why: String },
    #[error("{host} gave an answer that ralph does not understand: {what}")]
    Unexpected { host: String, what: String },
}

impl ForgeError {
    /// Returns the time to ask again; `None` if the user has to do something first.
    pub fn retry(&self) -> Option<Retry> {
        match self {
            ForgeError::Limited {
                after_ms: Some(after_ms),
                ..
            } => Some(Retry::AfterMs(*after_ms)),
            ForgeError::Unreachable { .. } | ForgeError::Failing { .. } | ForgeError::Limited { .. } => {
                Some(Retry::Later)
            }
            ForgeError::NoProgram { .. }
            | ForgeError::NotLoggedIn { .. }
            | ForgeError::TokenRefused { .. }
            | ForgeError::NotFound { .. }
            | ForgeError::Refused { .. }
            | ForgeError::Unexpected { .. } => None,
        }
    }

    /// Returns a hint: what the user can type next.
    pub fn hint(&self) -> Option<String> {
        match self {
            ForgeError::NoProgram { program } => Some(format!("install `{program}`, then `{program} auth login`")),
            ForgeError::NotLoggedIn { host } => Some(format!("gh auth login --hostname {host}")),
            ForgeError::TokenRefused { host } => Some(format!("gh auth refresh --hostname {host}")),
            ForgeError::NotFound { host, .. } => Some(format!("gh auth status --hostname {host}")),
            ForgeError::Unreachable { .. }
            | ForgeError::Failing { .. }
            | ForgeError::Limited { .. }
            | ForgeError::Refused { .. }
            | ForgeError::Unexpected { .. } => None,
        }
    }
}

/// The status, the headers and the body that `gh api --include` printed.
pub(crate) struct ForgeAnswer<'o> {
    status: u16,
    headers: Vec<(String, &'o str)>,
    body: &'o str,
}

/// Splits the output of `gh api --include`; `None` if there was no answer.
fn split(output: &str) -> Option<ForgeAnswer<'_>> {
    let (first, mut rest) = output.split_once('\n')?;
    let status = first.strip_prefix("HTTP/")?.split(' ').nth(1)?.trim().parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_lowercase(), value.trim()));
        }
    }
    Some(ForgeAnswer {
        status,
        headers,
        body: rest,
    })
}

impl ForgeAnswer<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }

    /// The time until the forge takes requests again, if it named one.
    fn wait_ms(&self, now_ms: u64) -> Option<u64> {
        let number = |name| self.header(name).and_then(|value| value.parse::<u64>().ok());
        let reset = || number("x-ratelimit-reset").map(|at| at.saturating_mul(1000).saturating_sub(now_ms));
        number("retry-after")
            .map(|seconds| seconds.saturating_mul(1000))
            .or_else(reset)
    }

    fn is_limited(&self) -> bool {
        let is_spent = self.header("x-ratelimit-remaining") == Some("0");
        self.status == 429 || self.status == 403 && (is_spent || self.header("retry-after").is_some())
    }
}

/// Returns the body of a successful answer.
///
/// # Errors
/// [`ForgeError`]; `said` is what the program printed to stderr, `what` names the thing that was asked for.
pub(crate) fn body<'o>(
    output: &'o str,
    said: &str,
    host: &str,
    what: &str,
    now_ms: u64,
) -> Result<&'o str, ForgeError> {
    let named = || host.to_owned();
    let Some(answer) = split(output) else {
        let is_login = said.contains("gh auth login") || said.contains("GH_TOKEN");
        return Err(match is_login {
            true => ForgeError::NotLoggedIn { host: named() },
            false => ForgeError::Unreachable {
                host: named(),
                why: cut(said),
            },
        });
    };
    match answer.status {
        200..=299 => Ok(answer.body),
        _ if answer.is_limited() => Err(ForgeError::Limited {
            host: named(),
            after_ms: answer.wait_ms(now_ms),
        }),
        401 => Err(ForgeError::TokenRefused { host: named() }),
        404 | 410 => Err(ForgeError::NotFound {
            host: named(),
            what: what.to_owned(),
        }),
        500..=599 => Err(ForgeError::Failing {
            host: named(),
            status: answer.status,
        }),
        status => Err(ForgeError::Refused {
            host: named(),
            status,
            why: message(answer.body),
        }),
    }
}

/// Returns the data of an answer of GraphQL, which reports errors with the status 200.
///
/// # Errors
/// [`ForgeError`].
pub(crate) fn data(body: &str, host: &str) -> Result<Value, ForgeError> {
    let mut answer = json(body, host)?;
    let Some(first) = answer["errors"].as_array().and_then(|errors| errors.first()) else {
        return Ok(answer["data"].take());
    };
    let host = host.to_owned();
    Err(match first["type"].as_str() {
        Some("RATE_LIMITED") => ForgeError::Limited { host, after_ms: None },
        Some("NOT_FOUND") => ForgeError::NotFound {
            host,
            what: cut(first["message"].as_str().unwrap_or("such thing")),
        },
        Some(_) | None => ForgeError::Refused {
            host,
            status: 200,
            why: cut(first["message"].as_str().unwrap_or("no reason given")),
        },
    })
}

/// Parses a body.
///
/// # Errors
/// [`ForgeError::Unreachable`] if it is not JSON: half of an answer, or that of something between here and the forge.
pub(crate) fn json(body: &str, host: &str) -> Result<Value, ForgeError> {
    serde_json::from_str(body).map_err(|error| ForgeError::Unreachable {
        host: host.to_owned(),
        why: error.to_string(),
    })
}

/// The message in the body of a refusal, with those of its details.
fn message(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return cut(body);
    };
    let details = value["errors"].as_array().into_iter().flatten();
    let details = details.filter_map(|detail| detail["message"].as_str().or_else(|| detail.as_str()));
    let all: Vec<&str> = value["message"].as_str().into_iter().chain(details).collect();
    cut(&all.join(": "))
}

fn cut(text: &str) -> String {
    let line = one_line(text.trim());
    match line.is_empty() {
        true => "it gave no reason".to_owned(),
        false => line.chars().take(SAID).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(output: &str, said: &str) -> Result<String, ForgeError> {
        body(output, said, "github.com", "issue 7", 5_000).map(str::to_owned)
    }

    #[test]
    fn the_body_follows_the_headers_and_an_empty_line() {
        assert_eq!(
            asked("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"x\": \"a\\n\"}\n\nmore", "").unwrap(),
            "{\"x\": \"a\\n\"}\n\nmore"
        );
        assert_eq!(asked("HTTP/2.0 204 No Content\nA: b\n\n", "").unwrap(), "");
        assert_eq!(asked("HTTP/2.0 204 No Content\n", "").unwrap(), "");
    }

    #[test]
    fn an_error_says_whether_and_when_to_ask_again() {
        let limited = |headers: &str| asked(&format!("HTTP/1.1 403 Forbidden\r\n{headers}\r\n{{}}"), "").unwrap_err();
        assert_eq!(limited("Retry-After: 3\r\n").retry(), Some(Retry::AfterMs(3_000)));
        let reset = limited("X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 12\r\n");
        assert_eq!(reset.retry(), Some(Retry::AfterMs(7_000)));
        assert_eq!(limited("X-RateLimit-Remaining: 9\r\n").retry(), None);
        let failing = asked("HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", "").unwrap_err();
        assert_eq!(failing.retry(), Some(Retry::Later));
        let gone = asked("", "error connecting to api.github.com\ncheck your internet connection").unwrap_err();
        assert_eq!(gone.retry(), Some(Retry::Later));
        let login = asked("", "To get started with GitHub CLI, please run:  gh auth login").unwrap_err();
        assert_eq!((login.retry(), login.hint().is_some()), (None, true));
        let expired = asked(
            "HTTP/1.1 401 Unauthorized\r\n\r\n{\"message\": \"Bad credentials\"}",
            "",
        )
        .unwrap_err();
        assert!(expired.to_string().contains("expired"), "{expired}");
    }

    #[test]
    fn a_refusal_repeats_the_forges_words_without_what_a_terminal_obeys() {
        let refused = asked(
            "HTTP/1.1 422 Unprocessable Entity\r\n\r\n{\"message\": \"Validation Failed\", \"errors\": [{\"message\": \"No \\u001b[31mcommits\"}]}",
            "",
        );
        let said = refused.unwrap_err().to_string();
        assert!(said.ends_with("Validation Failed: No commits"), "{said}");
        let limited = data(r#"{"errors": [{"type": "RATE_LIMITED"}]}"#, "h").unwrap_err();
        assert_eq!(limited.retry(), Some(Retry::Later));
        assert_eq!(data(r#"{"data": {"a": 1}}"#, "h").unwrap()["a"], 1);
        assert_eq!(data("<html>", "h").unwrap_err().retry(), Some(Retry::Later));
    }
}
