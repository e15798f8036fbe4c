//! `pi --mode json --print`: whole messages at `message_end`, with the usage of their request; `agent_settled` at the end.
//!
//! The exit code is 0 even if the model refused: the last message carries the error.

use ralph_core::event::{AgentSignal, FileChange, Problem, ProblemKind, SessionId, Usage};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{StreamsText, Structured, UsageInTurn},
    Finish, JsonDialect, JsonTurn,
    classify::{classify_answer, one_line, repeated},
    clock::ZonedClock,
    fields::{array, number, text},
    turn::{TurnSoFar, thought},
    verdict,
};

pub(super) const ROW: DialectRow = DialectRow {
    name: "pi-json",
    traits: &[Structured, StreamsText, UsageInTurn],
    parser: || Box::<JsonDialect<PiTurn>>::default(),
};

/// One turn, built from its events. Those of `pi --mode rpc` are the same.
#[derive(Debug, Default)]
pub(crate) struct PiTurn {
    turn: TurnSoFar,
    session: Option<SessionId>,
    is_opened: bool,
    /// The error of the last message, if it has one.
    error: Option<Problem>,
    is_settled: bool,
}

impl JsonTurn for PiTurn {
    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match text(event, "/type") {
            "session" => self.set_session(&event["id"]),
            "message_start" => self.open(&event["message"], out),
            "message_update" => out.extend(piece(&event["assistantMessageEvent"])),
            "message_end" => self.message(&event["message"], clock, out),
            "tool_execution_start" => {
                let call = (text(event, "/toolCallId"), text(event, "/toolName"));
                self.turn.tool_started(call, &event["args"], clock.now_ms, out);
            }
            "tool_execution_end" => self.tool_end(event, clock, out),
            "auto_retry_start" => {
                let problem = failure(text(event, "/errorMessage"), clock);
                let count = |name: &str| number(event, name).and_then(|n| u32::try_from(n).ok());
                out.push(AgentSignal::Retrying {
                    attempt: count("/attempt"),
                    of: count("/maxAttempts"),
                    kind: repeated(problem.kind),
                    why: one_line(&problem.text),
                });
            }
            "agent_settled" => self.is_settled = true,
            known if IGNORED.contains(&known) => {}
            other => self.turn.unknown(other, event, out),
        }
    }

    /// Ends the turn with the exit of the program.
    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let problem = match (self.error.take(), self.is_settled) {
            (None, true) => None,
            (Some(error), true) => Some(error),
            (_, false) => Some(verdict::problem(finish, clock)),
        };
        self.turn.end(problem, out);
    }
}

impl PiTurn {
    /// Sets the session, which is reported once the first answer begins.
    pub(crate) fn set_session(&mut self, id: &Value) {
        self.session = id.as_str().map(|id| SessionId(id.to_owned()));
    }

    /// Settles a turn whose prompt pi has refused.
    pub(crate) fn refuse(&mut self, why: &str, clock: &ZonedClock) {
        self.error = Some(failure(why, clock));
        self.is_settled = true;
    }

    /// Reports session and model once the first answer begins.
    fn open(&mut self, message: &Value, out: &mut Vec<AgentSignal>) {
        if text(message, "/role") == "assistant" && !self.is_opened {
            self.is_opened = true;
            out.push(AgentSignal::Opened {
                session: self.session.take(),
                model: message["model"].as_str().map(str::to_owned),
            });
        }
    }

    fn message(&mut self, message: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if text(message, "/role") != "assistant" {
            return;
        }
        let parts = |kind: &str, field: &str| -> String {
            let of_kind = array(message, "/content").filter(|part| text(part, "/type") == kind);
            let texts: Vec<&str> = of_kind.filter_map(|part| part[field].as_str()).collect();
            texts.join("\n\n")
        };
        thought(&parts("thinking", "thinking"), out);
        self.turn.said(&parts("text", "text"), out);
        out.extend(usage(&message["usage"]));
        let error = message["errorMessage"].as_str();
        self.error = error.map(|error| failure(error, clock));
    }

    fn tool_end(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let ok = event["isError"] == false;
        let output: Vec<&str> = array(event, "/result/content")
            .map(|part| text(part, "/text"))
            .collect();
        let end = (ok, &*output.join("\n"));
        let call = self.turn.tool_ended(text(event, "/toolCallId"), end, clock.now_ms, out);
        let change = call
            .path
            .filter(|_| ok && matches!(call.tool.as_str(), "write" | "edit"));
        out.extend(change.map(|path| AgentSignal::FileChanged {
            path,
            // pi does not tell whether the file existed before.
            change: FileChange::Updated,
        }));
    }
}

/// Events that tell nothing which the others do not.
const IGNORED: [&str; 10] = [
    "agent_end",
    "agent_start",
    "auto_retry_end",
    "compaction_end",
    "compaction_start",
    "entry_appended",
    "queue_update",
    "tool_execution_update",
    "turn_end",
    "turn_start",
];

fn piece(update: &Value) -> Option<AgentSignal> {
    let text = text(update, "/delta").to_owned();
    match update["type"].as_str()? {
        "text_delta" => Some(AgentSignal::TextDelta { text }),
        "thinking_delta" => Some(AgentSignal::ThoughtDelta { text }),
        _ => None,
    }
}

/// The usage of one request. pi counts cached tokens apart from the others.
fn usage(usage: &Value) -> Option<AgentSignal> {
    let count = |name: &str| number(usage, name).unwrap_or_default();
    let cached = count("/cacheRead");
    let input = count("/input")
        .saturating_add(cached)
        .saturating_add(count("/cacheWrite"));
    let usage = Usage {
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        output_tokens: Some(count("/output")),
        cost_usd: usage.pointer("/cost/total").and_then(Value::as_f64),
        ..Usage::default()
    };
    (input > 0).then_some(AgentSignal::Usage { usage })
}

/// Parses `401: {"message":…}`.
fn failure(said: &str, clock: &ZonedClock) -> Problem {
    let status = said.split(':').next().and_then(|status| status.trim().parse().ok());
    match said {
        // The connection was closed in the middle of an answer.
        "terminated" => Problem::said(ProblemKind::Network, said),
        said => classify_answer(said, status, clock),
    }
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
