//! `opencode run --format json`: complete parts of messages, in steps; no event marks the end.
//!
//! A turn succeeded if its last step stopped by itself and no error came after it. opencode reports retries, and
//! fallbacks to something other than requested, only on stderr; `--print-logs` makes it write its log there.

use ralph_core::event::{AgentSignal, Problem, ProblemKind, SessionId};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{Structured, UsageInTurn},
    Finish, JsonDialect, JsonTurn,
    calls::tool_input,
    classify::{classify, is_transient, one_line},
    clock::ZonedClock,
    fields::text,
    opencode_parts::{file_change, is_denial, problem_of, tool_ended, tool_started, usage},
    turn::{TurnSoFar, thought},
    verdict,
};

/// The number of equal errors, with nothing done in between, after which the session is ended: opencode compacts a
/// session that is too long for its model and tries again without end.
const ROUNDS: u32 = 3;
/// Most denied permissions that are listed.
const DENIALS_CAP: usize = 8;

pub(super) const ROW: DialectRow = DialectRow {
    name: "opencode-json",
    traits: &[Structured, UsageInTurn],
    parser: || Box::<JsonDialect<OpencodeTurn>>::default(),
};

#[derive(Debug, Default)]
struct OpencodeTurn {
    turn: TurnSoFar,
    opened: bool,
    /// The reason why the last step ended.
    reason: Option<String>,
    /// The last error; `None` once something was done after it.
    error: Option<Problem>,
    /// How often the last error has come in a row.
    rounds: u32,
    /// Tool uses that were denied.
    denied: Vec<String>,
    /// Permissions that were refused, as worded in the log.
    refused: Vec<String>,
    /// The error in the log, for a failure whose event does not explain it.
    logged: Option<Problem>,
    /// Consecutive retries of a request.
    attempts: u32,
    ended: bool,
}

impl JsonTurn for OpencodeTurn {
    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if self.ended {
            return;
        }
        self.open(event, out);
        match text(event, "/type") {
            "step_start" => {}
            "text" => self.said(event, out),
            "reasoning" => thought(text(event, "/part/text"), out),
            "tool_use" => self.tool_use(&event["part"], out),
            "step_finish" => self.step_finish(&event["part"], out),
            "error" => self.error(&event["error"], clock, out),
            other => self.turn.unknown(other, event, out),
        }
    }

    fn stderr_line(&mut self, line: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if self.ended {
            return;
        }
        let said = line.trim_start_matches(['!', ' ']);
        if said.ends_with("auto-rejecting")
            && let Some(permission) = said.strip_prefix("permission requested: ")
        {
            note(&mut self.refused, permission.trim_end_matches("; auto-rejecting"));
        } else if said.ends_with("Falling back to default agent") {
            // opencode would run a different agent than requested.
            let kind = ProblemKind::Usage;
            let text = one_line(said);
            self.fail(Problem::said(kind, text), out);
        } else if line.starts_with("timestamp=") && line.contains(" level=ERROR ") {
            self.logged_error(line, clock, out);
        }
    }

    fn is_stuck(&self) -> bool {
        self.ended
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if self.ended {
            return;
        }
        let denials = [&self.denied, &self.refused]
            .into_iter()
            .find(|denials| !denials.is_empty());
        let denied = denials.map(|denials| Problem::said(ProblemKind::PermissionDenied, one_line(&denials.join(", "))));
        match (self.error.take(), self.reason.take().as_deref(), denied) {
            (Some(error), _, _) => {
                let kept = |logged: &Problem| error.kind == ProblemKind::Other && logged.kind != ProblemKind::Other;
                let problem = self.logged.take().filter(kept).unwrap_or(error);
                self.fail(problem, out);
            }
            (None, Some("stop"), denied) => {
                out.extend(denied.map(|problem| AgentSignal::Problem { problem }));
                let message = self.turn.message.take();
                out.push(AgentSignal::TurnEnded { ok: true, message });
            }
            // A refused permission ends the turn after the step that asked for it.
            (None, _, Some(denied)) => self.fail(denied, out),
            (None, Some(reason), None) if reason != "tool-calls" => {
                let kind = ProblemKind::Other;
                let text = format!("the model stopped before it was done ({})", one_line(reason));
                self.fail(Problem::said(kind, text), out);
            }
            // opencode answers an invalid command line only with its usage text.
            (None, _, None) if finish.stderr.trim_start().starts_with("opencode run [message..]") => {
                let kind = ProblemKind::Usage;
                let text = "opencode does not understand its command line".to_owned();
                self.fail(Problem::said(kind, text), out);
            }
            (None, _, None) => self.turn.end(Some(verdict::problem(finish, clock)), out),
        }
    }
}

impl OpencodeTurn {
    fn open(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        let session = event.get("sessionID").and_then(Value::as_str);
        if let Some(session) = session.filter(|_| !std::mem::replace(&mut self.opened, true)) {
            out.push(AgentSignal::Opened {
                session: Some(SessionId(session.to_owned())),
                model: None,
            });
        }
    }

    fn said(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        // Text that opencode gives the model in the name of the user.
        if event.pointer("/part/synthetic").and_then(Value::as_bool) == Some(true) {
            return;
        }
        self.turn.said(text(event, "/part/text"), out);
    }

    /// Reports a tool use, which opencode announces only when it is over.
    fn tool_use(&mut self, part: &Value, out: &mut Vec<AgentSignal>) {
        let (started, ended) = (tool_started(part), tool_ended(part));
        let done = text(part, "/state/status") == "completed";
        if !done && is_denial(text(part, "/state/error")) {
            let input = tool_input(&part["state"]["input"]);
            note(&mut self.denied, &format!("{} ({input})", text(part, "/tool")));
        }
        out.extend([started, ended]);
        if done {
            out.extend(file_change(part));
            self.go_on(out);
        }
    }

    /// Notes progress: an earlier error did not end the turn.
    fn go_on(&mut self, out: &mut Vec<AgentSignal>) {
        self.rounds = 0;
        self.attempts = 0;
        if let Some(error) = self.error.take() {
            out.push(AgentSignal::Noted {
                text: format!("warning: {}", error.text),
            });
        }
    }

    fn step_finish(&mut self, part: &Value, out: &mut Vec<AgentSignal>) {
        self.attempts = 0;
        self.reason = Some(text(part, "/reason").to_owned());
        out.extend(usage(part));
    }

    fn error(&mut self, error: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let problem = problem_of(error, clock);
        let again = self.error.as_ref().is_some_and(|before| before.kind == problem.kind);
        self.rounds = if again { self.rounds + 1 } else { 1 };
        self.reason = None;
        if self.rounds >= ROUNDS {
            let text = format!("{} ({ROUNDS} times, with nothing done in between)", problem.text);
            let kind = problem.kind;
            return self.fail(Problem::said(kind, text), out);
        }
        self.error = Some(problem);
    }

    fn logged_error(&mut self, line: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Some(error) = value_in(line, "error.error").or_else(|| value_in(line, "error")) else {
            return;
        };
        // `AI_APICallError: Rate limit reached`: the name of the error class does not help the user.
        let said = match error.split_once("Error: ") {
            Some((class, said)) if !class.contains(' ') => said,
            Some(_) | None => &error,
        };
        let problem = classify(said, clock);
        let of_request = value_in(line, "message").is_some_and(|message| message == "stream error");
        if of_request && is_transient(problem.kind) {
            self.attempts += 1;
            out.push(AgentSignal::Retrying {
                attempt: Some(self.attempts),
                of: None,
                why: problem.text.into(),
                kind: Some(problem.kind),
            });
        } else if problem.kind != ProblemKind::Other {
            self.logged = Some(problem);
        }
    }

    fn fail(&mut self, problem: Problem, out: &mut Vec<AgentSignal>) {
        self.ended = true;
        self.turn.end(Some(problem), out);
    }
}

/// Adds a denial to the list, unless it is a duplicate or the list is full.
fn note(denials: &mut Vec<String>, denial: &str) {
    let denial = one_line(denial);
    if denials.len() < DENIALS_CAP && !denials.contains(&denial) {
        denials.push(denial);
    }
}

/// The unquoted and unescaped value of `key` in a line of `key=value` or `key="value"`.
fn value_in(line: &str, key: &str) -> Option<String> {
    let marker = format!(" {key}=");
    let rest = &line[line.find(&marker)? + marker.len()..];
    if !rest.starts_with('"') {
        return Some(rest.split(' ').next().unwrap_or_default().to_owned());
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    values.next()?.ok()
}

#[cfg(test)]
#[path = "opencode_tests.rs"]
mod tests;
