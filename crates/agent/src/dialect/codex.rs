//! `codex exec --json`: one event a line, items begin and complete.
//!
//! An `error` event is either a retry ("Reconnecting... 2/5 (why)") or the failure that `turn.failed` repeats; an
//! *item* of type `error` is only a warning. A failed patch produces no event at all.

use ralph_core::event::{AgentSignal, FileChange, Problem, SessionId, Usage, clip};
use serde_json::{Value, json};

use super::{
    DialectRow,
    DialectTrait::{CountsSubagents, Structured, Subagents, SumsUsage},
    Finish, JsonDialect, JsonTurn, ZonedClock,
    classify::{classify, one_line, repeated},
    codex_subagents::CodexSubagents,
    command_line::bare_command,
    fields::text,
    head,
    todos::TodoList,
    turn::{TurnSoFar, thought},
    verdict,
};

/// The text for a failure that codex does not explain.
pub(crate) const UNEXPLAINED: &str = "the turn failed, and codex does not say why";

pub(super) const ROW: DialectRow = DialectRow {
    name: "codex-json",
    traits: &[Structured, SumsUsage, Subagents, CountsSubagents],
    parser: || Box::<JsonDialect<CodexTurn>>::default(),
};

/// One turn, built from its events.
#[derive(Debug, Default)]
pub(crate) struct CodexTurn {
    turn: TurnSoFar,
    todos: TodoList,
    /// The last reported error. It may turn out to be the failure of the turn.
    error: Option<String>,
    /// The agent's own thread.
    pub(crate) thread: Option<String>,
    pub(crate) subagents: CodexSubagents,
    ended: bool,
}

impl JsonTurn for CodexTurn {
    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let kind = text(event, "/type");
        match kind {
            "thread.started" => {
                self.thread = event.get("thread_id").and_then(Value::as_str).map(str::to_owned);
                out.push(AgentSignal::Opened {
                    session: self.thread.clone().map(SessionId),
                    model: None,
                });
            }
            "turn.started" => {}
            "item.started" => self.item_started(event, clock, out),
            "item.updated" => self.todo_list(&event["item"], out),
            "item.completed" => self.item_completed(event, clock, out),
            "turn.completed" => self.completed(event, out),
            "turn.failed" => {
                let message = text(event, "/error/message").to_owned();
                self.fail(&message, clock, out);
            }
            "error" => self.error(text(event, "/message"), clock, out),
            other => self.turn.unknown(other, event, out),
        }
    }

    /// Ends the turn with a failure if the program ended without a verdict.
    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if self.ended {
            return;
        }
        match self.error.take() {
            Some(error) => self.fail(&error, clock, out),
            None => self.turn.end(Some(verdict::problem(finish, clock)), out),
        }
    }
}

impl CodexTurn {
    fn item_started(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let item = &event["item"];
        self.todo_list(item, out);
        if let Some((tool, input)) = tool(item) {
            let call = text(item, "/id").to_owned();
            self.turn.call_began((&call, &tool), None, clock.now_ms);
            out.push(AgentSignal::ToolStarted { call, tool, input });
        }
    }

    fn item_completed(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let item = &event["item"];
        match text(item, "/type") {
            "agent_message" => self.turn.said(text(item, "/text"), out),
            "reasoning" => thought(text(item, "/text"), out),
            "file_change" => file_changes(item, out),
            // codex repeats the list at the end of the turn.
            "todo_list" => self.todo_list(item, out),
            "error" => {
                out.push(AgentSignal::Noted {
                    text: format!("warning: {}", one_line(text(item, "/message"))),
                });
            }
            other => match tool(item) {
                Some((tool, _)) => {
                    out.push(AgentSignal::ToolEnded {
                        call: text(item, "/id").to_owned(),
                        tool,
                        ok: !matches!(text(item, "/status"), "failed" | "declined"),
                        output: head(&tool_output(item)),
                        duration_ms: self.turn.call_ended(text(item, "/id")).duration_ms(clock.now_ms),
                    });
                    if other == "collab_tool_call" {
                        self.subagents.take(item, self.thread.as_deref(), clock.now_ms, out);
                    }
                }
                None => self.turn.unknown(&format!("item/{other}"), event, out),
            },
        }
    }

    /// Takes a finished item of a subagent on the live channel.
    pub(crate) fn subagent_item(&mut self, item: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if text(item, "/type") == "collabAgentToolCall" {
            self.subagents.take(item, self.thread.as_deref(), clock.now_ms, out);
        }
    }

    fn todo_list(&mut self, item: &Value, out: &mut Vec<AgentSignal>) {
        if text(item, "/type") != "todo_list" {
            return;
        }
        let todos = item["items"].as_array().into_iter().flatten().map(|todo| {
            let status = match todo["completed"].as_bool() {
                Some(true) => "completed",
                Some(false) | None => "pending",
            };
            json!({"content": text(todo, "/text"), "status": status})
        });
        self.todos.report(todos.collect(), out);
    }

    /// Takes a plan of the live channel, which also marks steps in progress.
    pub(crate) fn plan_updated(&mut self, plan: &Value, out: &mut Vec<AgentSignal>) {
        let todos = plan.as_array().into_iter().flatten().map(|step| {
            let status = match text(step, "/status") {
                "inProgress" => "in_progress",
                status => status,
            };
            json!({"content": text(step, "/step"), "status": status})
        });
        self.todos.report(todos.collect(), out);
    }

    fn completed(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        if let Some(error) = self.error.take() {
            // The turn went on after that error, so the error did not end it.
            out.push(AgentSignal::Noted {
                text: format!("warning: {}", one_line(&error)),
            });
        }
        let count = |name: &str| event.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
        if event.get("usage").is_some_and(Value::is_object) {
            out.push(AgentSignal::Usage {
                usage: Usage {
                    input_tokens: count("input_tokens"),
                    cached_tokens: count("cached_input_tokens"),
                    output_tokens: count("output_tokens"),
                    ..Usage::default()
                },
            });
        }
        self.end(true, out);
    }

    fn fail(&mut self, message: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let message = match (message.is_empty(), self.error.take()) {
            (true, Some(error)) => error,
            (true, None) => UNEXPLAINED.to_owned(),
            (false, _) => message.to_owned(),
        };
        self.fail_with(classify(&message, clock), out);
    }

    /// Ends the turn with `problem`.
    pub(crate) fn fail_with(&mut self, problem: Problem, out: &mut Vec<AgentSignal>) {
        if !self.ended {
            out.push(AgentSignal::Problem { problem });
            self.end(false, out);
        }
    }

    pub(crate) fn end(&mut self, ok: bool, out: &mut Vec<AgentSignal>) {
        if !std::mem::replace(&mut self.ended, true) {
            out.push(AgentSignal::TurnEnded {
                ok,
                message: self.turn.message.take(),
            });
        }
    }

    fn error(&mut self, message: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Some(retry) = message.strip_prefix("Reconnecting...") else {
            self.error = Some(message.to_owned());
            return;
        };
        let (count, why) = match retry.trim().split_once('(') {
            Some((count, why)) => (count.trim(), why.strip_suffix(')').unwrap_or(why)),
            None => (retry.trim(), retry.trim()),
        };
        let numbers = attempts(count);
        out.push(AgentSignal::Retrying {
            attempt: numbers.map(|(attempt, _)| attempt),
            of: numbers.map(|(_, of)| of),
            why: one_line(why),
            kind: repeated(classify(why, clock).kind),
        });
    }
}

/// The numbers in `2/5`: the current retry and the maximum.
pub(crate) fn attempts(count: &str) -> Option<(u32, u32)> {
    let (attempt, of) = count.trim().split_once('/')?;
    Some((attempt.parse().ok()?, of.parse().ok()?))
}

/// The tool and the short input of an item that is a tool use.
fn tool(item: &Value) -> Option<(String, String)> {
    let named = |tool: &str, input: &str| Some((tool.to_owned(), clip(input, super::OUTPUT_CAP_BYTES)));
    match text(item, "/type") {
        "command_execution" => named("shell", &bare_command(text(item, "/command"))),
        "mcp_tool_call" => {
            let tool = format!("{}.{}", text(item, "/server"), text(item, "/tool"));
            let arguments = item.get("arguments").filter(|arguments| !arguments.is_null());
            named(&tool, &arguments.map(Value::to_string).unwrap_or_default())
        }
        "collab_tool_call" => named(text(item, "/tool"), text(item, "/prompt")),
        "web_search" => named("web search", text(item, "/query")),
        _ => None,
    }
}

fn tool_output(item: &Value) -> String {
    if let Some(output) = item.get("aggregated_output").and_then(Value::as_str) {
        return output.to_owned();
    }
    if let Some(error) = item.pointer("/error/message").and_then(Value::as_str) {
        return error.to_owned();
    }
    let content = item.pointer("/result/content").and_then(Value::as_array);
    let texts = content
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn file_changes(item: &Value, out: &mut Vec<AgentSignal>) {
    let failed = matches!(text(item, "/status"), "failed" | "declined");
    for change in item.get("changes").and_then(Value::as_array).into_iter().flatten() {
        let path = text(change, "/path").to_owned();
        if failed {
            out.push(AgentSignal::Noted {
                text: format!("warning: {path} was not changed"),
            });
            continue;
        }
        let change = match text(change, "/kind") {
            "add" => FileChange::Added,
            "delete" => FileChange::Deleted,
            _ => FileChange::Updated,
        };
        out.push(AgentSignal::FileChanged { path, change });
    }
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
