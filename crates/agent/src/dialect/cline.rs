//! `cline --json`: what the agent does is in `agent_event`, the end of the turn in `run_result`.
//!
//! The exit code is 0 even if the turn was aborted. The session's id is not reported.

use ralph_core::event::{AgentSignal, FileChange, Problem, ProblemKind, Usage};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{StreamsText, Structured, UsageInTurn},
    Finish, JsonDialect, JsonTurn, TEXT_CAP_BYTES,
    calls::{OpenCalls, path_in, tool_input},
    classify::classify_answer,
    clock::ZonedClock,
    fields::{number, text},
    head,
    lines::UnknownReports,
    verdict,
};

pub(super) const ROW: DialectRow = DialectRow {
    name: "cline-json",
    traits: &[Structured, StreamsText, UsageInTurn],
    parser: || Box::<JsonDialect<ClineTurn>>::default(),
};

#[derive(Debug, Default)]
struct ClineTurn {
    unknown: UnknownReports,
    calls: OpenCalls,
    /// The thought so far. Its end is reported after the text that follows it.
    thought: String,
    /// The last complete message.
    message: Option<String>,
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
            other => self.unknown(other, line, out),
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let problem = match self.end.take() {
            Some(ClineEnd::Completed) => None,
            Some(ClineEnd::Failed(problem)) => Some(problem),
            Some(ClineEnd::Aborted) | None => Some(verdict::problem(finish, clock)),
        };
        verdict::end(problem, self.message.take(), out);
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
                let call = text(event, "/toolCallId").to_owned();
                let tool = text(event, "/toolName").to_owned();
                let input = &event["input"];
                self.calls.begin(&call, &tool, path_in(input), clock.now_ms);
                out.push(AgentSignal::ToolStarted {
                    call,
                    tool,
                    input: tool_input(input),
                });
            }
            ("content_update", "tool") => {
                let chunk = text(event, "/update/chunk");
                out.extend((!chunk.is_empty()).then(|| AgentSignal::ToolOutput {
                    call: text(event, "/toolCallId").to_owned(),
                    text: chunk.to_owned(),
                }));
            }
            ("content_end", "text") => {
                let said = text(event, "/text").to_owned();
                self.message = Some(said.clone());
                out.push(AgentSignal::Said { text: said });
            }
            ("content_end", "reasoning") => self.end_thought(out),
            ("content_end", "tool") => self.tool_end(event, clock, out),
            ("usage", _) => out.push(AgentSignal::Usage { usage: usage(event) }),
            // The errors of tools are in their results, those of the model in `run_result`.
            ("iteration_start" | "iteration_end" | "error" | "done", _) => {}
            (other, _) => self.unknown(other, event, out),
        }
    }

    fn end_thought(&mut self, out: &mut Vec<AgentSignal>) {
        let text = std::mem::take(&mut self.thought);
        out.extend((!text.is_empty()).then_some(AgentSignal::Thought { text }));
    }

    fn unknown(&mut self, kind: &str, event: &Value, out: &mut Vec<AgentSignal>) {
        self.unknown.report(kind, || format!("unknown event {event}"), out);
    }

    fn tool_end(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let id = text(event, "/toolCallId");
        let call = self.calls.end(id);
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
        let change = match call.tool.as_str() {
            "editor" if ok => call.path.clone(),
            _ => None,
        };
        out.push(AgentSignal::ToolEnded {
            call: id.to_owned(),
            ok,
            output: head(&said.join("\n")),
            duration_ms: call.duration_ms(clock.now_ms),
            tool: call.tool,
        });
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
