//! codex in both directions: `codex app-server`, one JSON-RPC message a line, without the `jsonrpc` field.
//!
//! A session is one thread with one turn. Its items give the same signals as those of `codex exec --json`.
//!
//! An accepted message for the running turn is not delivered yet: codex keeps it until its next request to the model,
//! and loses it if the turn fails before that. It counts as delivered when it appears among the items, with the id
//! under which it was sent.
//!
//! When its standard input closes, codex ends at once, together with every command that it left running in the
//! background.

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, Problem, ProblemKind, SessionId, ToolKind, Usage};
use ralph_text::json_rpc::METHOD_NOT_FOUND;
use serde_json::{Value, json};

use super::{
    Exchange, Protocol, SessionCommand, SessionOpening, codex_asking,
    codex_asking::{CodexAnswer, CodexAsks},
    codex_items::{AccountLimits, as_exec, problem_of, used},
    codex_steering::SteeringQueue,
};
use crate::dialect::{
    CodexTurn, Finish, JsonLineParser, JsonTurn, UNEXPLAINED_BY_CODEX, UnknownReports, ZonedClock, attempts, classify,
    one_line, repeated,
};

#[derive(Debug, Default)]
pub(super) struct CodexLive {
    objects: JsonLineParser,
    conversation: CodexConversation,
}

#[derive(Debug, Default)]
struct CodexConversation {
    opening: SessionOpening,
    thread: Option<String>,
    turn_id: Option<String>,
    turn: CodexTurn,
    unknown: UnknownReports,
    steering: SteeringQueue,
    asks: CodexAsks,
    /// The usage of the thread, over all its turns.
    used: Option<Usage>,
    limits: AccountLimits,
    /// The last reported error. It may turn out to be the failure of the turn.
    error: Option<Problem>,
    /// The turn is over.
    closed: bool,
}

impl Protocol for CodexLive {
    fn start(&mut self, opening: SessionOpening, exchange: &mut Exchange) {
        let conversation = &mut self.conversation;
        conversation.steering = SteeringQueue::new(&opening.seed);
        conversation.opening = opening;
        let client = json!({"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")});
        // codex would repeat all changes of the turn after every step.
        let capabilities = json!({"optOutNotificationMethods": ["turn/diff/updated"]});
        let params = json!({"clientInfo": client, "capabilities": capabilities});
        exchange.write(&json!({"id": "initialize", "method": "initialize", "params": params}));
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.feed(bytes, exchange, |message, exchange| {
            conversation.take(&Value::Object(message), clock, exchange);
        });
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        let conversation = &mut self.conversation;
        match command {
            SessionCommand::Steer { id, .. } if conversation.closed => {
                exchange.answer_message(id, false);
            }
            SessionCommand::Steer { id, text } => {
                conversation.steering.add(id, text);
                conversation.steer(exchange);
            }
            SessionCommand::Answer { id, answer } => conversation.answer(&id, &answer, exchange),
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.finish(exchange, |message, exchange| {
            conversation.take(&Value::Object(message), clock, exchange);
        });
        conversation.steering.give_up(exchange);
        match conversation.error.take() {
            Some(problem) => conversation.turn.fail_with(problem, &mut exchange.signals),
            None => conversation.turn.finish(finish, clock, &mut exchange.signals),
        }
    }
}

impl CodexConversation {
    fn take(&mut self, message: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        if self.closed {
            return;
        }
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => self.asked(method, id, params, exchange),
            (Some(method), None) if self.is_ours(params) => self.notified(method, params, clock, exchange),
            (Some(method), None) => self.subagent_notified(method, params, clock, exchange),
            (None, Some(id)) => self.answered(id.as_str().unwrap_or_default(), message, clock, exchange),
            (None, None) => self.unknown.report(
                "neither",
                || format!("unknown message {message}"),
                &mut exchange.signals,
            ),
        }
    }

    fn is_ours(&self, params: &Value) -> bool {
        match (params["threadId"].as_str(), &self.thread) {
            (Some(thread), Some(ours)) => thread == ours,
            (_, _) => true,
        }
    }

    /// Takes the response to a request of ralph.
    fn answered(&mut self, id: &str, message: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let refused = message.get("error").is_some();
        if id.starts_with("steer/") {
            if refused {
                self.steering.refused(id, exchange);
            }
            return;
        }
        if refused {
            let problem = classify(message["error"]["message"].as_str().unwrap_or_default(), clock);
            return self.close(Some(problem), exchange);
        }
        let result = &message["result"];
        match id {
            "initialize" => {
                exchange.write(&json!({"method": "initialized"}));
                // The configuration lists the MCP servers whose tools need permission.
                match self.opening.asks.has(ToolKind::Mcp) {
                    true => {
                        let params = json!({"cwd": self.opening.cwd});
                        exchange.write(&json!({"id": "config", "method": "config/read", "params": params}));
                    }
                    false => self.open_thread(&Value::Null, exchange),
                }
            }
            "config" => self.open_thread(&result["config"]["mcp_servers"], exchange),
            "thread" => self.thread_opened(result, exchange),
            "turn" => self.turn_began(&result["turn"], exchange),
            _ => {}
        }
    }

    fn open_thread(&self, servers: &Value, exchange: &mut Exchange) {
        let opening = &self.opening;
        let mut params = json!({"cwd": opening.cwd, "sandbox": "danger-full-access"});
        let mut config = json!({});
        match opening.asks.is_empty() {
            true => params["approvalPolicy"] = json!("never"),
            // With `on-request` codex would ask for nothing, since its sandbox restricts nothing.
            false => {
                params["approvalPolicy"] = json!("untrusted");
                params["approvalsReviewer"] = json!("user");
                config = codex_asking::settings(opening.asks, servers);
            }
        }
        // In addition to the user's servers, which are in codex's own configuration.
        for server in &opening.servers {
            let table = &mut config["mcp_servers"][&server.name];
            table["command"] = json!(server.command);
            table["args"] = json!(server.args);
            table["env"] = server.variables().into();
            if opening.asks.has(ToolKind::Mcp) {
                table["default_tools_approval_mode"] = json!("prompt");
            }
        }
        if config.as_object().is_some_and(|config| !config.is_empty()) || !opening.asks.is_empty() {
            params["config"] = config;
        }
        if let Some(model) = &opening.model {
            params["model"] = json!(model);
        }
        let method = match &opening.resume {
            None => "thread/start",
            Some(session) => {
                params["threadId"] = json!(session.0);
                params["excludeTurns"] = json!(true);
                "thread/resume"
            }
        };
        exchange.write(&json!({"id": "thread", "method": method, "params": params}));
    }

    fn thread_opened(&mut self, result: &Value, exchange: &mut Exchange) {
        let thread = result["thread"]["id"].as_str().unwrap_or_default().to_owned();
        exchange.signals.push(AgentSignal::Opened {
            session: Some(SessionId(thread.clone())),
            model: result["model"].as_str().map(str::to_owned),
        });
        let prompt = std::mem::take(&mut self.opening.prompt);
        let params = json!({"threadId": thread, "input": [{"type": "text", "text": prompt}]});
        exchange.write(&json!({"id": "turn", "method": "turn/start", "params": params}));
        self.turn.thread = Some(thread.clone());
        self.thread = Some(thread);
    }

    fn turn_began(&mut self, turn: &Value, exchange: &mut Exchange) {
        if self.turn_id.is_none() {
            self.turn_id = turn["id"].as_str().map(str::to_owned);
            self.steer(exchange);
        }
    }

    /// Sends the pending messages, once there is a turn to take them.
    fn steer(&mut self, exchange: &mut Exchange) {
        if let (Some(thread), Some(turn)) = (&self.thread, &self.turn_id) {
            self.steering.send(thread, turn, exchange);
        }
    }

    fn notified(&mut self, method: &str, params: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let text = |field: &str| params[field].as_str().unwrap_or_default().to_owned();
        match method {
            "turn/started" => self.turn_began(&params["turn"], exchange),
            "turn/completed" => self.completed(&params["turn"], clock, exchange),
            "item/started" => self.item_started(&params["item"], clock, exchange),
            "item/completed" => self.item_completed(&params["item"], clock, exchange),
            "item/agentMessage/delta" => exchange.signals.push(AgentSignal::TextDelta { text: text("delta") }),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                exchange.signals.push(AgentSignal::ThoughtDelta { text: text("delta") });
            }
            // The parts of a thought are separate lines of the whole thought.
            "item/reasoning/summaryPartAdded" if params["summaryIndex"].as_u64() > Some(0) => {
                exchange
                    .signals
                    .push(AgentSignal::ThoughtDelta { text: "\n".to_owned() });
            }
            "item/commandExecution/outputDelta" => exchange.signals.push(AgentSignal::ToolOutput {
                call: text("itemId"),
                text: text("delta"),
            }),
            "turn/plan/updated" => self.turn.plan_updated(&params["plan"], &mut exchange.signals),
            "thread/tokenUsage/updated" => self.usage(params, &mut exchange.signals),
            "account/rateLimits/updated" => self.limits.update(&params["rateLimits"], &mut exchange.signals),
            "error" => self.failed(params, clock, &mut exchange.signals),
            "warning" | "guardianWarning" => exchange.signals.push(AgentSignal::Noted {
                text: format!("warning: {}", one_line(&text("message"))),
            }),
            "serverRequest/resolved" => self.asks.resolved(&params["requestId"], &mut exchange.signals),
            other if is_beside_the_turn(other) => {}
            other => self.unknown.report(
                other,
                || format!("unknown event {other} {params}"),
                &mut exchange.signals,
            ),
        }
    }

    /// Takes an event of the thread of a subagent, which requests permission here as well.
    fn subagent_notified(&mut self, method: &str, params: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let (subagents, out) = (&mut self.turn.subagents, &mut exchange.signals);
        let thread = params["threadId"].as_str().unwrap_or_default();
        match method {
            "item/started" => self.asks.item_started(&params["item"]),
            "item/completed" => self.turn.subagent_item(&params["item"], clock, out),
            "turn/started" => subagents.turn_started(thread, clock.now_ms, out),
            "turn/completed" => subagents.turn_ended(thread, out),
            "thread/tokenUsage/updated" => {
                let told = &params["tokenUsage"];
                let usage = (used(&told["total"]), used(&told["last"]));
                if let Some(usage) = subagents.used(thread, usage, clock.now_ms, out) {
                    out.push(AgentSignal::Usage { usage });
                }
            }
            _ => {}
        }
    }

    fn item_started(&mut self, item: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        self.asks.item_started(item);
        match item["type"].as_str() {
            Some("userMessage") => self
                .steering
                .taken(item["clientId"].as_str().unwrap_or_default(), exchange),
            Some("fileChange") => {}
            _ => self.item("item.started", item, clock, &mut exchange.signals),
        }
    }

    fn item_completed(&mut self, item: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let unasked = self.asks.item_completed(item, self.opening.asks);
        self.item("item.completed", item, clock, &mut exchange.signals);
        if unasked.is_some() {
            self.close(unasked, exchange);
        }
    }

    fn item(&mut self, kind: &str, item: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if let Some(item) = as_exec(item) {
            self.turn.take(&json!({"type": kind, "item": item}), clock, out);
        }
    }

    /// Takes the usage of the whole thread. codex repeats it even if it has not changed.
    fn usage(&mut self, params: &Value, out: &mut Vec<AgentSignal>) {
        let told = &params["tokenUsage"];
        let total = used(&told["total"]);
        let of_this_turn = self.turn_id.is_some() && params["turnId"].as_str() == self.turn_id.as_deref();
        // A resumed thread begins with its earlier usage.
        let before = self
            .used
            .replace(total)
            .or_else(|| of_this_turn.then(|| total.since(used(&told["last"]))));
        let usage = before.map(|before| total.since(before));
        if let Some(usage) = usage.filter(|usage| usage.input_tokens > Some(0) || usage.output_tokens > Some(0)) {
            out.push(AgentSignal::Usage { usage });
        }
    }

    fn failed(&mut self, params: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let error = &params["error"];
        let problem = problem_of(error, &self.limits, clock);
        if params["willRetry"] != json!(true) {
            self.error = Some(problem);
            return;
        }
        let count = error["message"]
            .as_str()
            .and_then(|said| said.strip_prefix("Reconnecting..."));
        let numbers = count.and_then(attempts);
        out.push(AgentSignal::Retrying {
            attempt: numbers.map(|(attempt, _)| attempt),
            of: numbers.map(|(_, of)| of),
            kind: repeated(problem.kind),
            why: problem.text.into(),
        });
    }

    fn completed(&mut self, turn: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let other = |ours: &String| turn["id"].as_str() != Some(ours);
        if self.turn_id.as_ref().is_some_and(other) {
            return;
        }
        let reported = self.error.take();
        let problem = match turn["status"].as_str() {
            Some("completed") => {
                // The turn went on after that error, so the error did not end it.
                exchange.signals.extend(reported.map(|error| AgentSignal::Noted {
                    text: format!("warning: {}", error.text),
                }));
                None
            }
            _ if turn["error"].is_object() => Some(problem_of(&turn["error"], &self.limits, clock)),
            status => reported.or_else(|| {
                let why = match status {
                    Some("interrupted") => "the turn was interrupted",
                    _ => UNEXPLAINED_BY_CODEX,
                };
                Some(Problem::said(ProblemKind::Other, why))
            }),
        };
        self.close(problem, exchange);
    }

    /// Reports the verdict on the turn, and closes codex's input so that it ends.
    fn close(&mut self, problem: Option<Problem>, exchange: &mut Exchange) {
        self.closed = true;
        exchange.close = true;
        self.steering.give_up(exchange);
        match problem {
            None => self.turn.end(true, &mut exchange.signals),
            Some(problem) => self.turn.fail_with(problem, &mut exchange.signals),
        }
    }

    /// Answers a request of codex.
    fn asked(&mut self, method: &str, id: &Value, params: &Value, exchange: &mut Exchange) {
        if self.asks.asked(method, id, params, exchange).is_err() {
            // A form of an MCP server for the user: after a decline, the server's tool continues.
            if method == "mcpServer/elicitation/request" {
                exchange.write(&json!({"id": id, "result": {"action": "decline"}}));
                let text = || "an MCP server has a form for the user, which was declined".to_owned();
                return self.unknown.note(method, text, &mut exchange.signals);
            }
            let error = json!({"code": METHOD_NOT_FOUND, "message": format!("{method} is not supported")});
            exchange.write(&json!({"id": id, "error": error}));
            let text = || format!("codex asks for {method}, which is not known");
            self.unknown.report(method, text, &mut exchange.signals);
        }
    }

    /// Sends a decision. codex tells the model only that a use was refused, so the reason is sent before: the next
    /// request to the model contains it.
    fn answer(&mut self, id: &AskId, answer: &PermissionAnswer, exchange: &mut Exchange) {
        let Some(CodexAnswer { reason, response }) = self.asks.answer(id, answer) else {
            return;
        };
        if let (Some(reason), Some(thread), Some(turn)) = (reason, &self.thread, &self.turn_id) {
            self.steering.explain(&reason, thread, turn, exchange);
        }
        exchange.write(&response);
    }
}

/// Whether a notification does not concern the turn, or repeats what its items report.
fn is_beside_the_turn(method: &str) -> bool {
    let rooms = [
        "account/",
        "app/",
        "command/exec/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "item/autoApprovalReview/",
        "item/commandExecution/",
        "item/fileChange/",
        "item/mcpToolCall/",
        "item/plan/",
        "item/reasoning/",
        "mcpServer/",
        "model/",
        "modelProvider/",
        "process/",
        "project/",
        "remoteControl/",
        "skills/",
        "thread/",
        "turn/diff/",
    ];
    matches!(method, "configWarning" | "deprecationNotice") || rooms.iter().any(|room| method.starts_with(room))
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
