//! claude in both directions: `claude -p --input-format stream-json --output-format stream-json`.
//!
//! A message for the running turn is a line of type `user`; claude repeats it (`isReplay`) once it is part of the
//! conversation. A message sent while a tool runs joins the turn; one sent while the last answer is written begins
//! another. The turn is therefore over at the first `result` after which no message is pending.
//!
//! Permissions use a hook before every tool use. claude calls it even if permissions are skipped, so that its own mode
//! cannot silently allow a use that rules concern; denials are passed on to the model. A claude version that accepts
//! the hook and does not call it is detected by the first use that was not asked for, which ends the turn.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use ralph_core::event::{
    AgentSignal, AskId, PermissionAnswer, PermissionRequest, Problem, Question, SteeringId, SubagentStart, ToolKind,
    ToolKinds,
};
use serde_json::{Map, Value, json};

use super::{
    Exchange, PENDING_CAP, Protocol, SessionCommand, SessionOpening, difference::difference, seam::used_without_asking,
};
use crate::dialect::{
    ClaudeTurn, Finish, JsonLineParser, JsonTurn, UnknownReports, ZonedClock, array, choices, one_line, path_in,
    short_input, text,
};
use crate::usage::EarlierTurns;

/// The timeout of the hook in seconds: longer than ralph ever waits for the user.
const HOOK_TIMEOUT_S: u64 = 7 * 24 * 3600;

/// The message that makes claude ask before every use of a tool, or of the `tools` only.
fn initialize(tools: Option<&str>) -> Value {
    let hook = json!({"matcher": tools, "hookCallbackIds": ["before"], "timeout": HOOK_TIMEOUT_S});
    let request = json!({"subtype": "initialize", "hooks": {"PreToolUse": [hook]}});
    json!({"type": "control_request", "request_id": "initialize", "request": request})
}

#[derive(Debug, Default)]
pub(super) struct ClaudeLive {
    objects: JsonLineParser,
    conversation: ClaudeConversation,
}

#[derive(Debug, Default)]
struct ClaudeConversation {
    turn: ClaudeTurn,
    unknown: UnknownReports,
    /// The seed from which line ids are computed, so that they differ between sessions.
    seed: String,
    /// Messages that claude has not repeated yet, by the ids of their lines; `None` for the prompt.
    sent: HashMap<String, Option<SteeringId>>,
    lines: u64,
    /// The kinds of tools whose use requires permission.
    asks: ToolKinds,
    /// Pending requests, and how they were asked.
    pending: HashMap<AskId, ClaudeAsk>,
    /// Tool uses that were asked for and have not ended.
    asked: HashSet<String>,
    /// The turn is over.
    closed: bool,
    /// Whether the turn is over and claude would begin another.
    stuck: bool,
}

/// A permission request: whether a hook made it, and its input, which is sent back with the answers to questions.
#[derive(Debug, Clone)]
struct ClaudeAsk {
    is_hook: bool,
    input: Value,
}

impl Protocol for ClaudeLive {
    fn follow(&mut self, earlier: EarlierTurns) {
        self.conversation.turn.follow(earlier);
    }

    fn start(&mut self, opening: SessionOpening, exchange: &mut Exchange) {
        let conversation = &mut self.conversation;
        conversation.seed = opening.seed;
        conversation.asks = opening.asks;
        match (opening.asks.is_empty(), &opening.subagent_tools[..]) {
            (false, _) => exchange.write(&initialize(None)),
            (true, []) => {}
            (true, tools) => exchange.write(&initialize(Some(&tools.join("|")))),
        }
        conversation.say(None, &opening.prompt, exchange);
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.feed(bytes, exchange, |event, exchange| {
            conversation.take(&Value::Object(event), clock, exchange);
        });
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        self.conversation.command(command, exchange);
    }

    fn is_stuck(&self) -> bool {
        self.conversation.stuck
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.finish(exchange, |event, exchange| {
            conversation.take(&Value::Object(event), clock, exchange);
        });
        conversation.turn.finish(finish, clock, &mut exchange.signals);
    }
}

impl ClaudeConversation {
    fn take(&mut self, event: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let kind = event.get("type").and_then(Value::as_str);
        match kind {
            // The process is being ended. Requests that are not answered wait until then.
            Some("control_request" | "result") if self.stuck => {}
            Some("control_request") => self.asked(event, exchange),
            Some("control_cancel_request") => {
                let id = AskId(name(event, "/request_id"));
                if self.pending.remove(&id).is_some() {
                    exchange.signals.push(AgentSignal::PermissionWithdrawn { id });
                }
            }
            // Responses to ralph's own requests, and repetitions of ralph's answers.
            Some("control_response") => {}
            Some("user") if event.get("isReplay") == Some(&Value::Bool(true)) => {
                if let Some(Some(id)) = self.sent.remove(&name(event, "/uuid")) {
                    exchange.answer_message(id, true);
                }
            }
            Some("result") => self.result(event, clock, exchange),
            _ => {
                let told = exchange.signals.len();
                self.turn.take(event, clock, &mut exchange.signals);
                let unasked: Vec<Problem> = exchange.signals[told..]
                    .iter()
                    .filter_map(|signal| self.unasked_use(signal))
                    .collect();
                if let Some(problem) = unasked.into_iter().next() {
                    self.fail(problem, &mut exchange.signals);
                }
            }
        }
    }

    /// The problem of a tool use that ended without a permission request, if rules concern it.
    fn unasked_use(&mut self, signal: &AgentSignal) -> Option<Problem> {
        let AgentSignal::ToolEnded {
            call, tool, ok, output, ..
        } = signal
        else {
            return None;
        };
        let was_asked = self.asked.remove(call) || self.asked.contains(tool);
        // A use that claude itself refuses, for example for its arguments, did not run. A command that failed did.
        let ran = *ok || output.starts_with("Exit code ");
        let kind = kind_of(tool);
        if was_asked || !ran || kind == ToolKind::Other || !self.asks.has(kind) {
            return None;
        }
        Some(used_without_asking("claude", tool))
    }

    /// Ends the turn although claude would continue. Its standard input stays open: closing it would allow pending
    /// requests.
    fn fail(&mut self, problem: Problem, out: &mut Vec<AgentSignal>) {
        self.turn.fail_with(problem, out);
        self.stuck = true;
        self.closed = true;
    }

    fn result(&mut self, event: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let failed = event.get("is_error").and_then(Value::as_bool) != Some(false);
        let waiting = self.sent.values().any(Option::is_some);
        if waiting && !failed && !self.closed {
            // Pending messages begin the next turn; the usage is reported as a sum at its end.
            self.turn.passes(event);
            return;
        }
        self.turn.take(event, clock, &mut exchange.signals);
        if self.turn.waits_for_subagents() {
            return;
        }
        self.stuck = waiting;
        self.closed = true;
        // Closing the input would allow pending requests.
        let left: Vec<AskId> = self.pending.keys().cloned().collect();
        for id in left {
            let message = "the turn is over".to_owned();
            self.answer(&id, &PermissionAnswer::Deny { message }, exchange);
        }
        exchange.close = true;
    }

    fn asked(&mut self, event: &Value, exchange: &mut Exchange) {
        let id = AskId(name(event, "/request_id"));
        let request = &event["request"];
        let (is_hook, tool, input) = match request["subtype"].as_str() {
            Some("hook_callback") if request["input"]["hook_event_name"] == "PreToolUse" => {
                let told = &request["input"];
                (true, &told["tool_name"], &told["tool_input"])
            }
            Some("can_use_tool") => (false, &request["tool_name"], &request["input"]),
            other => {
                let what = other.unwrap_or("nothing").to_owned();
                let refusal =
                    json!({"subtype": "error", "request_id": id.0, "error": format!("{what} is not supported")});
                exchange.write(&json!({"type": "control_response", "response": refusal}));
                self.unknown.report(
                    &what,
                    || format!("claude asks for {what}, which is not known"),
                    &mut exchange.signals,
                );
                return;
            }
        };
        let tool = tool.as_str().unwrap_or_default();
        let questions = questions(tool, input);
        let title = match questions.first() {
            Some(question) => one_line(&question.text),
            None => short_input(input),
        };
        let request = PermissionRequest {
            call: request["tool_use_id"].as_str().map(str::to_owned),
            reason: input["description"].as_str().map(str::to_owned),
            command: input["command"].as_str().map(str::to_owned),
            paths: path_in(input).into_iter().map(str::to_owned).collect(),
            url: input["url"].as_str().map(str::to_owned),
            diff: change(input),
            questions,
            subagent: match is_hook && self.asks.is_empty() {
                true => SubagentStart::Counted,
                false => SubagentStart::No,
            },
            ..PermissionRequest::new(id.clone(), tool, kind_of(tool), title)
        };
        self.asked
            .insert(request.call.clone().unwrap_or_else(|| tool.to_owned()));
        let input = input.clone();
        self.pending.insert(id.clone(), ClaudeAsk { is_hook, input });
        if self.pending.len() > PENDING_CAP {
            let message = "too many requests wait for an answer".to_owned();
            return self.answer(&id, &PermissionAnswer::Deny { message }, exchange);
        }
        exchange.signals.push(AgentSignal::PermissionRequested {
            request: Box::new(request),
        });
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        match command {
            SessionCommand::Steer { id, .. } if self.closed => {
                exchange.answer_message(id, false);
            }
            SessionCommand::Steer { id, text } => self.say(Some(id), &text, exchange),
            SessionCommand::Answer { id, answer } => self.answer(&id, &answer, exchange),
        }
    }

    /// Answers a pending request. Answers to other requests are ignored.
    fn answer(&mut self, id: &AskId, answer: &PermissionAnswer, exchange: &mut Exchange) {
        let Some(ClaudeAsk { is_hook, input }) = self.pending.remove(id) else {
            return;
        };
        let mut response = match answer {
            // Its own rules still apply.
            PermissionAnswer::Allow if is_hook && self.asks.is_empty() => json!({}),
            PermissionAnswer::Allow if is_hook => json!({"permissionDecision": "allow"}),
            PermissionAnswer::Words { answers } if is_hook => {
                json!({"permissionDecision": "allow", "updatedInput": answered(input, answers)})
            }
            PermissionAnswer::Deny { message } if is_hook => {
                json!({"permissionDecision": "deny", "permissionDecisionReason": message})
            }
            PermissionAnswer::Allow => json!({"behavior": "allow", "updatedInput": input}),
            PermissionAnswer::Words { answers } => {
                json!({"behavior": "allow", "updatedInput": answered(input, answers)})
            }
            PermissionAnswer::Deny { message } => json!({"behavior": "deny", "message": message}),
        };
        if response.get("permissionDecision").is_some() {
            response["hookEventName"] = "PreToolUse".into();
            response = json!({"hookSpecificOutput": response});
        }
        let response = json!({"subtype": "success", "request_id": id.0, "response": response});
        exchange.write(&json!({"type": "control_response", "response": response}));
    }

    fn say(&mut self, id: Option<SteeringId>, text: &str, exchange: &mut Exchange) {
        self.lines += 1;
        let line = uuid(&self.seed, self.lines);
        exchange.write(&json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            "parent_tool_use_id": null,
            "uuid": line,
        }));
        self.sent.insert(line, id);
    }
}

fn name(event: &Value, pointer: &str) -> String {
    event
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The diff of a tool use. claude does not report its place in the file.
fn change(input: &Value) -> Option<String> {
    let path = path_in(input)?;
    let words = |part: &Value, name: &str| part[name].as_str().map(str::to_owned);
    let edit = |part: &Value| Some(difference(&words(part, "old_string")?, &words(part, "new_string")?).1);
    let written = || words(input, "content").or_else(|| words(input, "new_source"));
    let several: Vec<Vec<String>> = array(input, "/edits").filter_map(edit).collect();
    let changes = match (several.is_empty(), edit(input)) {
        (false, _) => several,
        (true, Some(one)) => vec![one],
        (true, None) => vec![difference("", &written()?).1],
    };
    let each = changes
        .into_iter()
        .map(|lines| format!("@@ {path} @@\n{}", lines.join("\n")));
    Some(each.collect::<Vec<_>>().join("\n"))
}

/// The questions of a tool use. claude also accepts free text in place of a choice.
fn questions(tool: &str, input: &Value) -> Vec<Question> {
    let asked = array(input, "/questions").filter(|_| tool == "AskUserQuestion");
    let question = |asked: &Value| Question {
        header: text(asked, "/header").to_owned(),
        text: text(asked, "/question").to_owned(),
        choices: choices(asked),
        multiple: asked["multiSelect"] == true,
        free_text: true,
    };
    asked.map(question).collect()
}

/// The input of a tool use, with the answers to its questions.
fn answered(mut input: Value, answers: &[Vec<String>]) -> Value {
    let questions: Vec<String> = array(&input, "/questions")
        .map(|asked| text(asked, "/question").to_owned())
        .collect();
    let pairs = questions.into_iter().zip(answers);
    let pairs: Map<String, Value> = pairs
        .map(|(question, answer)| (question, answer.join(", ").into()))
        .collect();
    input["answers"] = Value::Object(pairs);
    input
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "Bash" | "BashOutput" | "KillShell" => ToolKind::Shell,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Read" | "Glob" | "Grep" | "LS" | "NotebookRead" => ToolKind::Read,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        tool if tool.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

/// A unique id for a line: claude ignores lines with a known id, also in a continued session.
fn uuid(seed: &str, line: u64) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, line, salt).hash(&mut hasher);
        hasher.finish()
    };
    let (high, low) = (half(0), half(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
