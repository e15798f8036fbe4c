//! Wordings by which the failures of agents, and of programs in general, are recognised.

use ralph_core::event::ProblemKind;

/// Wordings of agents, in lower case with plain apostrophes; the first match decides.
const WORDINGS: &[(ProblemKind, &[&str])] = &[
    (
        ProblemKind::QuotaExhausted { until_ms: None },
        &[
            "hit your usage limit",
            "hit your session limit",
            "hit your weekly limit",
            "hit your limit",
            "hit your opus limit",
            "hit your sonnet limit",
            "usage limit reached",
            "hour limit reached",
            "session limit reached",
            "weekly limit reached",
            "opus limit reached",
            "sonnet limit reached",
            "quota exceeded for",
            "quota exceeded. check your plan",
            "exceeded your current quota",
            "exhausted your daily quota",
            "exhausted your capacity",
            "credit balance is too low",
            "insufficient credits",
            "out of credits",
        ],
    ),
    (
        ProblemKind::ContextOverflow,
        &[
            "ran out of room in the model's context window",
            "context length",
            "context window",
            "prompt is too long",
            "input is too long",
            "input token count",
            "exceeds the maximum number of tokens",
        ],
    ),
    (
        ProblemKind::Auth,
        &[
            "missing environment variable",
            "you must specify the gemini_api_key",
            "not logged in",
            "please run /login",
            "codex login",
            "invalid api key",
            "incorrect api key",
            "api key not valid",
            "no api key found",
            "invalid x-api-key",
            "failed to authenticate",
            "oauth token has expired",
            "invalid auth method",
            "set an auth method",
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
            "error resuming session",
            "no session found matching",
            "no session, task, or name matched",
        ],
    ),
    (
        ProblemKind::ModelUnknown,
        &[
            "does not exist or you do not have access to it",
            "issue with the selected model",
            "model not found",
            "unknown model",
            "not found. use --list-models",
        ],
    ),
    (
        ProblemKind::RateLimited { until_ms: None },
        &["rate limit", "too many requests", "request rejected (429)"],
    ),
    (
        ProblemKind::Overloaded,
        &[
            "high demand",
            "overloaded",
            "at capacity",
            "internal server error",
            "service unavailable",
            "bad gateway",
            "server-side issue",
            "stream ended without a finish reason",
        ],
    ),
    (
        ProblemKind::Network,
        &[
            "stream disconnected",
            "connection refused",
            "connection reset",
            "connection failed",
            "connection was closed",
            "connection error",
            "unable to connect",
            "cannot connect to api",
            "waiting for network",
            "error sending request",
            "transport error",
            "network error",
            "dns error",
            "fetch failed",
            "api error: terminated",
            "econnreset",
            "econnrefused",
            "enotfound",
            "etimedout",
            "eai_again",
            "timed out",
            "timeout",
        ],
    ),
];

/// Wordings of programs about their command line or configuration. They apply only to the error with which a program
/// ends, since a model API may call anything invalid.
pub(super) const REFUSALS: [&str; 13] = [
    "unexpected argument",
    "unrecognized subcommand",
    "invalid value",
    "required arguments were not provided",
    "a value is required",
    "unknown option",
    "unknown argument",
    "argument missing",
    "cannot be used with root",
    "not inside a trusted directory",
    "not running in a trusted directory",
    "error loading config",
    "error parsing -c",
];

pub(super) fn from_wording(message: &str) -> Option<ProblemKind> {
    let message = message.replace('’', "'");
    // ASCII alone keeps its places.
    let said = message.to_ascii_lowercase();
    WORDINGS
        .iter()
        .find(|(_, wordings)| wordings.iter().any(|wording| has_words(&message, &said, wording)))
        .map(|(kind, _)| *kind)
}

/// Whether `wording` begins with a word in a message, of which `said` is in lower case. `ReadTimeout` has the word `timeout`, and
/// `FileNotFoundError` does not have `enotfound`.
fn has_words(message: &str, said: &str, wording: &str) -> bool {
    let begins = |at: usize| {
        let before = message[..at].chars().next_back();
        !before.is_some_and(char::is_alphanumeric) || message[at..].starts_with(char::is_uppercase)
    };
    said.match_indices(wording).any(|(at, _)| begins(at))
}

/// The error with which a program ended, from the last lines of its stderr: a message about its own failure, not what
/// it logged before.
pub(super) fn last_error(stderr: &str) -> Option<&str> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let starts = |line: &str, word: &str| {
        line.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    // A refused command line is reported first, followed by a long usage text.
    let refusal = lines().find(|line| starts(line, "unknown argument") || starts(line, "unknown option"));
    refusal
        .or_else(|| {
            lines().rfind(|line| {
                ["error:", "fatal:", "error resuming session"]
                    .iter()
                    .any(|word| starts(line, word))
            })
        })
        .or_else(|| lines().rfind(|line| !is_log(line)))
}

/// Whether a line belongs to a log: it begins with a time, or with a level below error.
fn is_log(line: &str) -> bool {
    let year = line.bytes().take_while(u8::is_ascii_digit).count() == 4 && line.as_bytes().get(4) == Some(&b'-');
    year || ["timestamp=", "WARNING:", "warning:", "INFO", "DEBUG", "Reading "]
        .iter()
        .any(|level| line.starts_with(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wording_begins_with_a_word() {
        for (message, kind) in [
            ("FileNotFoundError: [Errno 2] No such file or directory: '/a'", None),
            ("ModuleNotFoundError: No module named 'openai'", None),
            ("getaddrinfo ENOTFOUND api.example.com", Some(ProblemKind::Network)),
            ("httpx.ReadTimeout", Some(ProblemKind::Network)),
            (
                "Die Anfrage dauerte zu lange (Größe: 3): timed out",
                Some(ProblemKind::Network),
            ),
            (
                "You’ve hit your usage limit.",
                Some(ProblemKind::QuotaExhausted { until_ms: None }),
            ),
        ] {
            assert_eq!(from_wording(message), kind, "{message}");
        }
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
