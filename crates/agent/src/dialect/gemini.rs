//! `gemini --output-format stream-json`: messages come in pieces, `result` at the end.
//!
//! The `result` event gives an error only in words; the exit code carries its HTTP status (modulo 256). A failure is
//! therefore classified once both are known. Retries are reported only on stderr.

use ralph_core::event::{AgentSignal, Exit, FileChange, Problem, ProblemKind, SessionId, Usage, clip_start};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{StreamsText, Structured},
    Finish, JsonDialect, JsonTurn, TEXT_CAP_BYTES,
    classify::{classify, classify_last, from_status, one_line, repeated, with_time},
    clock::ZonedClock,
    fields::{number, text},
    reset::{next_midnight, until_in_text},
    turn::TurnSoFar,
    verdict,
};

/// The time zone at whose midnight Google's daily quotas reset.
const QUOTA_ZONE: &str = "America/Los_Angeles";

pub(super) const ROW: DialectRow = DialectRow {
    name: "gemini-stream-json",
    traits: &[Structured, StreamsText],
    parser: || Box::<JsonDialect<GeminiTurn>>::default(),
};

#[derive(Debug, Default)]
struct GeminiTurn {
    turn: TurnSoFar,
    /// The message whose pieces are arriving.
    saying: String,
    /// An error that was reported before the end.
    error: Option<String>,
    end: Option<GeminiResult>,
}

/// The outcome in the `result` event.
#[derive(Debug)]
enum GeminiResult {
    Good,
    Bad { kind: String, text: String },
}

impl JsonTurn for GeminiTurn {
    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let kind = text(event, "/type");
        if kind != "message" {
            self.say(out);
        }
        match kind {
            "init" => {
                let known = |field: &str| event.get(field).and_then(Value::as_str).map(str::to_owned);
                out.push(AgentSignal::Opened {
                    session: known("session_id").map(SessionId),
                    model: known("model"),
                });
            }
            "message" => self.message(event, out),
            "tool_use" => {
                let call = (text(event, "/tool_id"), text(event, "/tool_name"));
                self.turn
                    .tool_started(call, &event["parameters"], at_ms(event, clock), out);
            }
            "tool_result" => self.tool_result(event, clock, out),
            "error" => self.error(event, out),
            "result" => self.result(event, out),
            other => self.turn.unknown(other, event, out),
        }
    }

    fn stderr_line(&mut self, line: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        out.extend(retry(line, clock));
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        self.say(out);
        let problem = match (self.end.take(), self.error.take()) {
            (Some(GeminiResult::Good), _) => None,
            (Some(GeminiResult::Bad { kind, text }), error) => {
                let text = if text.is_empty() {
                    error.unwrap_or_default()
                } else {
                    text
                };
                Some(failure(&kind, &text, finish.exit, clock))
            }
            (None, Some(error)) => Some(failure("", &error, finish.exit, clock)),
            (None, None) => Some(without_result(finish, clock)),
        };
        self.turn.end(problem, out);
    }
}

impl GeminiTurn {
    fn message(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        // Messages of the user are the prompt.
        if text(event, "/role") != "assistant" {
            return self.say(out);
        }
        let piece = event.get("delta").and_then(Value::as_bool) == Some(true);
        if !piece {
            self.say(out);
        }
        let content = text(event, "/content");
        self.saying.push_str(content);
        if self.saying.len() > 2 * TEXT_CAP_BYTES {
            self.saying = clip_start(&self.saying, TEXT_CAP_BYTES);
        }
        if !piece {
            self.say(out);
        } else if !content.is_empty() {
            out.push(AgentSignal::TextDelta {
                text: content.to_owned(),
            });
        }
    }

    /// Reports the message whose pieces have arrived, if any.
    fn say(&mut self, out: &mut Vec<AgentSignal>) {
        self.turn.said(&std::mem::take(&mut self.saying), out);
    }

    fn tool_result(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let ok = text(event, "/status") == "success";
        let output = match text(event, "/output") {
            "" => text(event, "/error/message"),
            output => output,
        };
        let call = self
            .turn
            .tool_ended(text(event, "/tool_id"), (ok, output), at_ms(event, clock), out);
        let changes = ok && matches!(call.tool.as_str(), "write_file" | "replace");
        let changed = call.path.filter(|_| changes);
        out.extend(changed.map(|path| AgentSignal::FileChanged {
            path,
            // gemini does not tell whether the file existed before.
            change: FileChange::Updated,
        }));
    }

    fn error(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        let said = text(event, "/message");
        if text(event, "/severity") == "warning" {
            return out.push(AgentSignal::Noted {
                text: format!("warning: {}", one_line(said)),
            });
        }
        self.error = Some(said.to_owned());
    }

    fn result(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        let count = |name: &str| number(event, &format!("/stats/{name}"));
        if count("total_tokens").is_some_and(|total| total > 0) {
            out.push(AgentSignal::Usage {
                usage: Usage {
                    input_tokens: count("input_tokens"),
                    cached_tokens: count("cached"),
                    output_tokens: count("output_tokens"),
                    ..Usage::default()
                },
            });
        }
        self.end = Some(match text(event, "/status") {
            "success" => GeminiResult::Good,
            _ => GeminiResult::Bad {
                kind: text(event, "/error/type").to_owned(),
                text: text(event, "/error/message").to_owned(),
            },
        });
    }
}

/// The time of an event: its own timestamp, or the time of arrival.
fn at_ms(event: &Value, clock: &ZonedClock) -> u64 {
    let said: Option<jiff::Timestamp> = text(event, "/timestamp").parse().ok();
    said.and_then(|said| u64::try_from(said.as_millisecond()).ok())
        .unwrap_or(clock.now_ms)
}

/// Parses `Attempt 1 failed with status 429. Retrying with backoff... why`.
fn retry(line: &str, clock: &ZonedClock) -> Option<AgentSignal> {
    let (attempt, rest) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
    let (state, why) = rest.split_once("Retrying")?;
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let status = digits(state).parse().ok();
    let why = why.trim_start_matches(" with backoff").trim_start_matches(['.', ' ']);
    let said = classify(why, clock);
    let kind = match (said.kind, status.and_then(from_status)) {
        (ProblemKind::Other, Some(kind)) => kind,
        // A response would have had a status.
        (ProblemKind::Other, None) => ProblemKind::Network,
        (kind, _) => kind,
    };
    let why = match status {
        Some(status) => format!("status {status}: {}", said.text),
        None => said.text.into(),
    };
    Some(AgentSignal::Retrying {
        attempt: attempt.parse().ok(),
        of: None,
        kind: repeated(kind).map(|kind| with_time(kind, || until_in_text(&why, clock))),
        why: one_line(&why),
    })
}

/// The problem of a failed turn, from the program's final error.
fn failure(kind: &str, said: &str, exit: Option<Exit>, clock: &ZonedClock) -> Problem {
    let said = match said {
        "" => "the turn failed, and gemini does not say why",
        said => bare(said),
    };
    let worded = classify(said, clock);
    let from_exit = || exit.and_then(http_status).and_then(from_status);
    let kind = match (fatal(kind), worded.kind) {
        (Some(kind), _) => kind,
        (None, ProblemKind::Other) => from_exit().unwrap_or(ProblemKind::Other),
        (None, worded) => worded,
    };
    let until = || match said.contains("daily quota") {
        true => next_midnight(QUOTA_ZONE, clock),
        false => until_in_text(said, clock),
    };
    Problem::said(with_time(kind, until), worded.text)
}

/// The error without the prefix and suffix around it: `[API Error: …]`.
fn bare(said: &str) -> &str {
    said.strip_prefix("[API Error: ")
        .and_then(|rest| Some(&rest[..rest.rfind(']')?]))
        // `terminated` means a connection error only together with the prefix.
        .filter(|inner| *inner != "terminated")
        .unwrap_or(said)
}

/// Maps the errors to which gemini gives names and exit codes.
fn fatal(name: &str) -> Option<ProblemKind> {
    Some(match name {
        "FatalAuthenticationError" => ProblemKind::Auth,
        "FatalTurnLimitedError" => ProblemKind::TurnLimit,
        "FatalInputError" | "FatalConfigError" | "FatalUntrustedWorkspaceError" | "FatalSandboxError" => {
            ProblemKind::Usage
        }
        _ => return None,
    })
}

/// The HTTP status of the response that ended the turn: with structured output, the exit code is the status modulo 256.
fn http_status(exit: Exit) -> Option<u16> {
    let Exit::Code { code } = exit else { return None };
    match u16::try_from(code).ok()? {
        code @ 144..=255 => Some(code + 256),
        code @ 8..=17 => Some(code + 512),
        _ => None,
    }
}

/// The problem of a program that ended before its turn began: from its exit code and stderr.
fn without_result(finish: Finish<'_>, clock: &ZonedClock) -> Problem {
    let problem = verdict::problem(finish, clock);
    let kind = match finish.exit {
        Some(Exit::Code { code: 41 }) => ProblemKind::Auth,
        Some(Exit::Code { code: 42 }) if problem.kind == ProblemKind::SessionLost => ProblemKind::SessionLost,
        Some(Exit::Code {
            code: 42 | 44 | 52 | 55,
        }) => ProblemKind::Usage,
        Some(Exit::Code { code: 53 }) => ProblemKind::TurnLimit,
        Some(_) | None => return problem,
    };
    let explains = |line: &&str| classify_last(line, clock).kind == kind;
    let line = finish.stderr.lines().find(explains);
    Problem::said(kind, line.map_or(problem.text, |line| one_line(line).into()))
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
