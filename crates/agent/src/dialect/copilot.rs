//! `copilot --output-format json`: every event has its fields in `data`, `result` comes last.
//!
//! The session's id is only in `result`. Tokens are not reported here, unlike over ACP.

use ralph_core::event::{AgentSignal, FileChange, Problem, ProblemKind, SessionId};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{StreamsText, Structured},
    Finish, JsonDialect, JsonTurn,
    classify::{classify_answer, one_line, repeated},
    clock::ZonedClock,
    fields::{array, number, text},
    turn::{TurnSoFar, thought},
    verdict,
};

pub(super) const ROW: DialectRow = DialectRow {
    name: "copilot-json",
    traits: &[Structured, StreamsText],
    parser: || Box::<JsonDialect<CopilotTurn>>::default(),
};

#[derive(Debug, Default)]
struct CopilotTurn {
    turn: TurnSoFar,
    has_model: bool,
    /// The last failed request, until one succeeds.
    failed_request: Option<(u32, Problem)>,
    /// The error that ends the turn.
    error: Option<Problem>,
    /// Whether the turn was ended from outside. Its `result` has the exit code 0 then, too.
    is_aborted: bool,
    /// The exit code in `result`.
    result: Option<u64>,
}

impl JsonTurn for CopilotTurn {
    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let (kind, data) = (text(event, "/type"), &event["data"]);
        match kind {
            "session.tools_updated" => self.model(data, out),
            "assistant.message_delta" => out.extend(piece(data).map(|text| AgentSignal::TextDelta { text })),
            "assistant.reasoning_delta" => out.extend(piece(data).map(|text| AgentSignal::ThoughtDelta { text })),
            "assistant.message" => {
                self.model(data, out);
                self.turn.said(text(data, "/content"), out);
            }
            "assistant.reasoning" => thought(text(data, "/content"), out),
            "tool.execution_start" => {
                let call = (text(data, "/toolCallId"), text(data, "/toolName"));
                self.turn.tool_started(call, &data["arguments"], clock.now_ms, out);
            }
            "tool.shell_output" => out.push(AgentSignal::ToolOutput {
                call: text(data, "/toolCallId").to_owned(),
                text: text(data, "/text").to_owned(),
            }),
            "tool.execution_complete" => self.tool_end(data, clock, out),
            "model.call_failure" => {
                let attempt = number(data, "/retryAttempt").and_then(|n| u32::try_from(n).ok());
                let mut problem = classify_answer(text(data, "/errorMessage"), status(data), clock);
                if problem.kind == ProblemKind::Other && text(data, "/failureKind") == "transport" {
                    problem.kind = ProblemKind::Network;
                }
                self.failed_request = Some((attempt.unwrap_or_default(), problem));
            }
            "assistant.turn_retry" => {
                let failed = self.failed_request.take();
                out.extend(failed.map(|(attempt, problem)| AgentSignal::Retrying {
                    attempt: Some(attempt.saturating_add(1)),
                    of: None,
                    kind: repeated(problem.kind),
                    why: one_line(&problem.text),
                }));
            }
            "session.error" => {
                // The last request says what the summary of all attempts leaves out.
                let summary = classify_answer(text(data, "/message"), status(data), clock);
                let request = self.failed_request.take().map(|(_, problem)| problem.kind);
                self.error = Some(Problem {
                    kind: request.unwrap_or(summary.kind),
                    ..summary
                });
            }
            "abort" => self.is_aborted = true,
            "result" => {
                self.result = number(event, "/exitCode");
                let session = event["sessionId"].as_str().map(|id| SessionId(id.to_owned()));
                out.push(AgentSignal::Opened { session, model: None });
            }
            known if IGNORED.contains(&known) => {}
            other => self.turn.unknown(other, event, out),
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let problem = match (self.error.take(), self.result) {
            (Some(error), _) => Some(error),
            (None, Some(0)) if !self.is_aborted => None,
            (None, _) => Some(verdict::problem(finish, clock)),
        };
        self.turn.end(problem, out);
    }
}

impl CopilotTurn {
    fn model(&mut self, data: &Value, out: &mut Vec<AgentSignal>) {
        let Some(model) = data["model"].as_str().filter(|_| !self.has_model) else {
            return;
        };
        self.has_model = true;
        out.push(AgentSignal::Opened {
            session: None,
            model: Some(model.to_owned()),
        });
    }

    fn tool_end(&mut self, data: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let failed_command = number(data, "/shellExecution/exitCode").is_some_and(|code| code != 0);
        let output = match text(data, "/result/content") {
            "" => text(data, "/error/message"),
            output => output,
        };
        let ok = data["success"] == true && !failed_command;
        self.turn
            .tool_ended(text(data, "/toolCallId"), (ok, output), clock.now_ms, out);
        out.extend(array(data, "/fileEdits").map(|edit| AgentSignal::FileChanged {
            path: text(edit, "/path").to_owned(),
            change: match text(edit, "/kind") {
                "create" => FileChange::Added,
                "delete" => FileChange::Deleted,
                _ => FileChange::Updated,
            },
        }));
    }
}

/// Events that tell nothing which the others do not.
const IGNORED: [&str; 18] = [
    "agent.interrupted",
    "assistant.idle",
    "assistant.message_start",
    "assistant.tool_call_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "model.call_final_result",
    "model.call_finished",
    "model.call_start",
    "session.background_tasks_changed",
    "session.info",
    "session.mcp_server_status_changed",
    "session.mcp_server_tools_loaded",
    "session.mcp_servers_loaded",
    "session.shutdown",
    "session.skills_loaded",
    "tool.execution_partial_result",
    "user.message",
];

fn piece(data: &Value) -> Option<String> {
    Some(text(data, "/deltaContent").to_owned()).filter(|piece| !piece.is_empty())
}

fn status(data: &Value) -> Option<u16> {
    number(data, "/statusCode").and_then(|status| u16::try_from(status).ok())
}

#[cfg(test)]
#[path = "copilot_tests.rs"]
mod tests;
