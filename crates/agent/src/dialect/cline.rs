//! `cline --json`: what the agent does is in `agent_event`, the end of the turn in `run_result`.
//!
//! The exit code is 0 even if the turn was aborted. The session's id is not reported.

use ralph_core::event::{AgentSignal, FileChange, Problem, ProblemKind, Usage};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{StreamsText, Structured, UsageInTurn},
    Finish, JsonDialect, JsonTurn, TEXT_CAP_BYTES,
    classify::classify_answer,
    clock::ZonedClock,
    fields::{number, text},
    turn::{TurnSoFar, thought},
    verdict,
};

pub(super) const ROW: DialectRow = DialectRow {
    name: "cline-json",
    traits: &[Structured, StreamsText, UsageInTurn],
    parser: || Box::<JsonDialect<ClineTurn>>::default(),
};

#[derive(Debug, Default)]
struct ClineTurn {
    turn: TurnSoFar,
    /// The thought so far. Its end is reported after the text that follows it.
    thought: String,
    end: Option<ClineEnd>,
}

#[derive(Debug)]
enum ClineEnd {
    Completed,
    Aborted,
    Failed(Problem),
}

impl JsonTurn for ClineTurn {
    fn take(&mut self, line: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match text(line, "/type") {
            "agent_event" => self.event(&line["event"], clock, out),
            "run_result" => {
                let model = line.pointer("/model/id").and_then(Value::as_str).map(str::to_owned);
                out.push(AgentSignal::Opened { session: None, model });
                self.end = Some(end(line, clock));
            }
            "hook_event" | "run_aborted" => {}
            other => self.turn.unknown(other, line, out),
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let problem = match self.end.take() {
            Some(ClineEnd::Completed) => None,
            Some(ClineEnd::Failed(problem)) => Some(problem),
            Some(ClineEnd::Aborted) | None => Some(verdict::problem(finish, clock)),
        };
        self.turn.end(problem, out);
    }
}

impl ClineTurn {
    fn event(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let content = text(event, "/contentType");
        match (text(event, "/type"), content) {
            ("content_start", "text") => {
                self.end_thought(out);
                out.push(AgentSignal::TextDelta {
                    text: text(event, "/text").to_owned(),
                });
            }
            ("content_start", "reasoning") => {
                let piece = text(event, "/reasoning");
                if self.thought.len() + piece.len() <= TEXT_CAP_BYTES {
                    self.thought.push_str(piece);
                }
                out.push(AgentSignal::ThoughtDelta { text: piece.to_owned() });
            }
            ("content_start", "tool") => {
                self.end_thought(out);
                let call = (text(event, "/toolCallId"), text(event, "/toolName"));
                self.turn.tool_started(call, &event["input"], clock.now_ms, out);
            }
            ("content_update", "tool") => {
                let chunk = text(event, "/update/chunk");
                out.extend((!chunk.is_empty()).then(|| AgentSignal::ToolOutput {
                    call: text(event, "/toolCallId").to_owned(),
                    text: chunk.to_owned(),
                }));
            }
            ("content_end", "text") => self.turn.said(text(event, "/text"), out),
            ("content_end", "reasoning") => self.end_thought(out),
            ("content_end", "tool") => self.tool_end(event, clock, out),
            ("usage", _) => out.push(AgentSignal::Usage { usage: usage(event) }),
            // The errors of tools are in their results, those of the model in `run_result`.
            ("iteration_start" | "iteration_end" | "error" | "done", _) => {}
            (other, _) => self.turn.unknown(other, event, out),
        }
    }

    fn end_thought(&mut self, out: &mut Vec<AgentSignal>) {
        thought(&std::mem::take(&mut self.thought), out);
    }

    fn tool_end(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let output = &event["output"];
        // A tool that takes several commands or files has as many results.
        let results: Vec<&Value> = match output {
            Value::Array(results) => results.iter().collect(),
            result => vec![result],
        };
        let ok = event.get("error").is_none() && results.iter().all(|result| result["success"] == true);
        let said = |result: &&Value| match (text(result, "/result"), text(result, "/error")) {
            ("", error) => error.to_owned(),
            (result, _) => result.to_owned(),
        };
        let said: Vec<String> = results.iter().map(said).collect();
        let end = (ok, &*said.join("\n"));
        let call = self.turn.tool_ended(text(event, "/toolCallId"), end, clock.now_ms, out);
        let change = call.path.filter(|_| ok && call.tool == "editor");
        let is_new = said[..].concat().starts_with("File created");
        out.extend(change.map(|path| AgentSignal::FileChanged {
            path,
            change: if is_new { FileChange::Added } else { FileChange::Updated },
        }));
    }
}

/// The usage of one request. The tokens read from the cache are part of the input.
fn usage(event: &Value) -> Usage {
    Usage {
        input_tokens: number(event, "/inputTokens"),
        cached_tokens: number(event, "/cacheReadTokens"),
        output_tokens: number(event, "/outputTokens"),
        // The cost of a model that cline does not know is 0.
        cost_usd: event["cost"].as_f64().filter(|cost| *cost > 0.0),
        ..Usage::default()
    }
}

fn end(result: &Value, clock: &ZonedClock) -> ClineEnd {
    match text(result, "/finishReason") {
        "completed" => ClineEnd::Completed,
        "aborted" => ClineEnd::Aborted,
        reason => {
            let said = text(result, "/text");
            ClineEnd::Failed(match said {
                "" => Problem::said(ProblemKind::Other, format!("cline ended its turn: {reason}")),
                said => classify_answer(said, None, clock),
            })
        }
    }
}

#[cfg(test)]
#[path = "cline_tests.rs"]
mod tests;
