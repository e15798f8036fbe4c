//! Agents with the Agent Client Protocol, version 1: JSON-RPC in lines, in both directions.
//!
//! The turn is over when the prompt has been answered, and every message that was sent as a prompt of its own as well.
//! ACP has no message for a running turn. Some agents announce an extension for it. With other agents a second prompt
//! joins the turn, and with a third kind it ends the turn; neither is announced, so the manifest declares it.
//!
//! ACP has no reason for a denial either: the agent only learns that a use was rejected. The reason is sent as a
//! message to agents that accept one.

mod asks;
mod failure;
mod tools;
mod updates;

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, Problem, ProblemKind, SessionId, SteeringId};
use ralph_text::json_rpc::{self, JsonRpcMessage, METHOD_NOT_FOUND};
use serde_json::{Map, Value, json};

use super::{Exchange, Protocol, SessionCommand, SessionOpening, Steering, seam::used_without_asking};
use crate::{
    dialect::{Finish, JsonLineParser, UnknownReports, ZonedClock, array, text, without_verdict},
    mcp::acp_servers,
};

use asks::{AcpAsk, AcpAsks};
use updates::AcpUpdates;

/// The protocol version that ralph supports.
const VERSION: u64 = 1;
/// Names that agents use for a mode in which they ask for nothing.
const BYPASS_MODES: [&str; 4] = ["yolo", "bypassPermissions", "full-access", "agent-full-access"];

#[derive(Debug, Default)]
pub(super) struct AcpLive {
    objects: JsonLineParser,
    conversation: AcpConversation,
}

#[derive(Debug, Default)]
struct AcpConversation {
    opening: SessionOpening,
    stage: AcpStage,
    session: String,
    /// Whether the agent accepts messages for the running turn by the extension.
    is_steerable: bool,
    requests: u64,
    /// The requests that the agent has not answered.
    sent: HashMap<u64, SentRequest>,
    /// The answer to the prompt, while other prompts have no answer yet.
    result: Option<Value>,
    /// Messages that arrived before the prompt was sent.
    early: Vec<(SteeringId, String)>,
    asks: AcpAsks,
    updates: AcpUpdates,
    unknown: UnknownReports,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AcpStage {
    /// The prompt is not sent yet.
    #[default]
    Opening,
    Working,
    /// The verdict on the turn was reported.
    Closed,
}

/// A request that was sent to the agent.
#[derive(Debug)]
enum SentRequest {
    Initialize,
    Session,
    Model,
    /// A mode: `wanted` by the user, or only preferred by ralph.
    Mode {
        wanted: bool,
    },
    Prompt,
    /// A message for the running turn, as a prompt of its own or by the extension. `id` is `None` for a message of
    /// ralph itself.
    Message {
        id: Option<SteeringId>,
        is_prompt: bool,
    },
}

impl Protocol for AcpLive {
    fn start(&mut self, opening: SessionOpening, exchange: &mut Exchange) {
        self.conversation.updates.tools.named_calls = opening.named_calls;
        self.conversation.opening = opening;
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")},
        });
        self.conversation
            .request(SentRequest::Initialize, "initialize", &params, exchange);
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.feed(bytes, exchange, |object, exchange| {
            conversation.take(object, clock, exchange);
        });
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        match command {
            SessionCommand::Steer { id, text } => self.conversation.steer(id, text, exchange),
            SessionCommand::Answer { id, answer } => self.conversation.answer(&id, &answer, exchange),
        }
    }

    fn is_stuck(&self) -> bool {
        self.conversation.opening.stays && self.conversation.stage == AcpStage::Closed
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.finish(exchange, |object, exchange| {
            conversation.take(object, clock, exchange);
        });
        if conversation.stage != AcpStage::Closed {
            conversation.stage = AcpStage::Closed;
            let message = conversation.updates.end(&Value::Null, &mut exchange.signals);
            without_verdict(finish, message, clock, &mut exchange.signals);
        }
    }
}

impl AcpConversation {
    fn take(&mut self, object: Map<String, Value>, clock: &ZonedClock, exchange: &mut Exchange) {
        match JsonRpcMessage::from_object(object) {
            Some(JsonRpcMessage::Request { id, method, params }) if method == "session/request_permission" => {
                self.asked(id, &params, clock, exchange);
            }
            // A form for the user. No tested agent sends one, and none should, since clients that show forms announce
            // that. After a decline the turn continues.
            Some(JsonRpcMessage::Request { id, method, .. }) if method == "elicitation/create" => {
                exchange.write(&json_rpc::result(&id, &json!({"action": "decline"})));
                self.updates.say(&mut exchange.signals);
                let text = || "the agent has a form for its user, which was declined".to_owned();
                self.unknown.note(&method, text, &mut exchange.signals);
            }
            Some(JsonRpcMessage::Request { id, method, .. }) => {
                exchange.write(&json_rpc::refusal(
                    &id,
                    METHOD_NOT_FOUND,
                    &format!("Method not found: {method}"),
                ));
                // opencode also writes files this way, even though the client declares no such capability.
                if !method.starts_with("fs/") && !method.starts_with("terminal/") {
                    let text = || format!("the agent asks for {method}, which is not known");
                    self.unknown.report(&method, text, &mut exchange.signals);
                }
            }
            Some(JsonRpcMessage::Notification { method, params }) => self.notified(&method, &params, clock, exchange),
            Some(JsonRpcMessage::Response { id, outcome }) => {
                if let Some(sent) = self.sent.remove(&id) {
                    self.answered(sent, outcome, clock, exchange);
                }
            }
            None => self.unknown.report(
                "no message",
                || "a line is no message of ACP".to_owned(),
                &mut exchange.signals,
            ),
        }
    }

    fn notified(&mut self, method: &str, params: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        match (method, self.stage) {
            // Updates before the prompt are the history of a loaded session.
            ("session/update", AcpStage::Opening) => self.updates.take_before(&params["update"]),
            ("session/update", AcpStage::Working) if text(params, "/sessionId") == self.session => {
                let update = &params["update"];
                self.updates.take(update, clock, &mut exchange.signals);
                if tools::is_end(text(update, "/status")) {
                    let ended = self.asks.take_for_call(text(update, "/toolCallId"));
                    exchange
                        .signals
                        .extend(ended.into_iter().map(|id| AgentSignal::PermissionWithdrawn { id }));
                    self.send_due_denials(exchange);
                }
                if let Some(tool) = self.updates.tools.unasked_use(self.opening.asks) {
                    self.fail(used_without_asking("the agent", &tool), exchange);
                }
            }
            ("session/update", AcpStage::Working | AcpStage::Closed) => {}
            ("$/cancel_request", _) => {
                let id = asks::name(&params["requestId"]);
                if self.asks.take(&id).is_some() {
                    exchange.signals.push(AgentSignal::PermissionWithdrawn { id });
                    self.send_due_denials(exchange);
                }
            }
            // Extensions of agents may be ignored.
            (other, _) if !other.starts_with("session/") => {}
            (other, _) => {
                let text = || format!("the agent tells {other}, which is not known");
                self.unknown.report(other, text, &mut exchange.signals);
            }
        }
    }

    fn answered(
        &mut self,
        sent: SentRequest,
        outcome: Result<Value, Value>,
        clock: &ZonedClock,
        exchange: &mut Exchange,
    ) {
        match (sent, outcome) {
            (SentRequest::Initialize, Ok(result)) => self.initialized(&result, exchange),
            (SentRequest::Session, Ok(result)) => self.opened(&result, exchange),
            (SentRequest::Model | SentRequest::Mode { .. }, Ok(_)) | (SentRequest::Mode { wanted: false }, Err(_)) => {
                self.prompt(exchange)
            }
            (SentRequest::Prompt, Ok(result)) => self.stopped(result, exchange),
            (SentRequest::Message { id, is_prompt: true }, Ok(result)) => {
                exchange.answer_message(id, text(&result, "/stopReason") != "cancelled");
                self.stopped(result, exchange);
            }
            (SentRequest::Message { id, is_prompt: false }, Ok(result)) => {
                // A turn that the agent begins for the message would end with the program.
                exchange.answer_message(id, text(&result, "/outcome") == "injected");
            }
            (SentRequest::Message { id, is_prompt }, Err(_)) => {
                exchange.answer_message(id, false);
                // A refused message does not change how the turn ended.
                if let Some(result) = self.result.take().filter(|_| is_prompt) {
                    self.stopped(result, exchange);
                }
            }
            (SentRequest::Session, Err(error)) if self.opening.resume.is_some() => {
                let problem = or_else(failure::problem_from_error(&error, clock), ProblemKind::SessionLost);
                self.fail(problem, exchange);
            }
            (SentRequest::Model, Err(error)) => {
                let problem = or_else(failure::problem_from_error(&error, clock), ProblemKind::ModelUnknown);
                self.fail(problem, exchange);
            }
            (SentRequest::Mode { wanted: true }, Err(error)) => {
                let problem = or_else(failure::problem_from_error(&error, clock), ProblemKind::Usage);
                self.fail(problem, exchange);
            }
            // Some agents report the usage of the turn with the error.
            (SentRequest::Initialize | SentRequest::Session | SentRequest::Prompt, Err(error)) => {
                let problem = failure::problem_from_error(&error, clock);
                self.close(&error["data"], Some(problem), exchange);
            }
        }
    }

    fn initialized(&mut self, result: &Value, exchange: &mut Exchange) {
        let version = &result["protocolVersion"];
        if version.as_u64() != Some(VERSION) {
            let text = format!("the agent speaks version {version} of ACP, and ralph version {VERSION}");
            return self.fail(Problem::said(ProblemKind::Usage, text), exchange);
        }
        let can = |pointer: &str| !matches!(result.pointer(pointer), None | Some(Value::Null | Value::Bool(false)));
        self.is_steerable = ["/_meta", "/agentCapabilities/_meta"]
            .iter()
            .any(|place| result.pointer(&format!("{place}/steering/supported")) == Some(&Value::Bool(true)));
        let Some(SessionId(session)) = self.opening.resume.clone() else {
            return self.open_new(exchange);
        };
        let method = if can("/agentCapabilities/sessionCapabilities/resume") {
            "session/resume"
        } else if can("/agentCapabilities/loadSession") {
            "session/load"
        } else {
            let text = "the agent cannot continue a session".to_owned();
            return self.fail(Problem::said(ProblemKind::SessionLost, text), exchange);
        };
        let servers = acp_servers(&self.opening.servers);
        let params = json!({"sessionId": session, "cwd": self.opening.cwd, "mcpServers": servers});
        self.session = session;
        self.request(SentRequest::Session, method, &params, exchange);
    }

    fn open_new(&mut self, exchange: &mut Exchange) {
        let servers = acp_servers(&self.opening.servers);
        let params = json!({"cwd": self.opening.cwd, "mcpServers": servers});
        self.request(SentRequest::Session, "session/new", &params, exchange);
    }

    /// Configures the opened session, then sends the prompt.
    fn opened(&mut self, result: &Value, exchange: &mut Exchange) {
        let named = text(result, "/sessionId");
        if !named.is_empty() {
            named.clone_into(&mut self.session);
        }
        let models = option(result, "model");
        let current = models.map_or_else(
            || text(result, "/models/currentModelId"),
            |option| text(option, "/currentValue"),
        );
        let current = Some(current.to_owned()).filter(|current| !current.is_empty());
        exchange.signals.push(AgentSignal::Opened {
            session: Some(SessionId(self.session.clone())),
            model: self.opening.model.clone().or(current),
        });
        if let Some(model) = self.opening.model.clone() {
            if models.is_none() && result["models"].is_null() {
                let text = "the agent takes no model over ACP".to_owned();
                return self.fail(Problem::said(ProblemKind::Usage, text), exchange);
            }
            self.set(
                SentRequest::Model,
                models,
                "session/set_model",
                ("modelId", &model),
                exchange,
            );
        }
        let modes = option(result, "mode");
        let offered: Vec<&str> = match modes {
            Some(option) => array(option, "/options").map(|mode| text(mode, "/value")).collect(),
            None => array(result, "/modes/availableModes")
                .map(|mode| text(mode, "/id"))
                .collect(),
        };
        let bypass = BYPASS_MODES.iter().find(|mode| offered.contains(mode));
        let (wanted, mode) = match (&self.opening.agent, bypass) {
            (Some(agent), _) if offered.contains(&agent.as_str()) => (true, Some(agent.clone())),
            (Some(agent), _) => {
                let text = format!("the agent has no mode `{agent}`; it has: {}", offered.join(", "));
                return self.fail(Problem::said(ProblemKind::Usage, text), exchange);
            }
            (None, Some(mode)) if self.opening.asks.is_empty() => (false, Some((*mode).to_owned())),
            (None, _) => (false, None),
        };
        if let Some(mode) = mode {
            let sent = SentRequest::Mode { wanted };
            self.set(sent, modes, "session/set_mode", ("modeId", &mode), exchange);
        }
        self.prompt(exchange);
    }

    /// Sets a configuration option, or uses the older method if the agent has no such option.
    fn set(
        &mut self,
        sent: SentRequest,
        option: Option<&Value>,
        method: &str,
        (name, value): (&str, &str),
        exchange: &mut Exchange,
    ) {
        let session = &self.session;
        let (method, params) = match option {
            Some(option) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": option["id"], "value": value}),
            ),
            None => (method, json!({"sessionId": session, name: value})),
        };
        self.request(sent, method, &params, exchange);
    }

    /// Sends the prompt once all settings are confirmed.
    fn prompt(&mut self, exchange: &mut Exchange) {
        let is_set = !self
            .sent
            .values()
            .any(|sent| matches!(sent, SentRequest::Model | SentRequest::Mode { .. }));
        if self.stage != AcpStage::Opening || !is_set {
            return;
        }
        self.stage = AcpStage::Working;
        self.updates
            .begin(self.opening.resume.is_none(), self.opening.without_tokens);
        let prompt = std::mem::take(&mut self.opening.prompt);
        self.request(SentRequest::Prompt, "session/prompt", &self.content(&prompt), exchange);
        for (id, text) in std::mem::take(&mut self.early) {
            self.steer(id, text, exchange);
        }
    }

    /// Takes the answer to a prompt; the turn is over if it was the last.
    fn stopped(&mut self, result: Value, exchange: &mut Exchange) {
        if self.waits_for_prompts() {
            self.result = Some(result);
            return;
        }
        let problem = failure::problem_from_stop(text(&result, "/stopReason"));
        self.close(&result, problem, exchange);
    }

    fn waits_for_prompts(&self) -> bool {
        let is_prompt =
            |sent: &SentRequest| matches!(sent, SentRequest::Prompt | SentRequest::Message { is_prompt: true, .. });
        self.sent.values().any(is_prompt)
    }

    fn fail(&mut self, problem: Problem, exchange: &mut Exchange) {
        self.close(&Value::Null, Some(problem), exchange);
    }

    fn close(&mut self, result: &Value, problem: Option<Problem>, exchange: &mut Exchange) {
        if std::mem::replace(&mut self.stage, AcpStage::Closed) == AcpStage::Closed {
            return;
        }
        for (id, _) in std::mem::take(&mut self.early) {
            exchange.answer_message(id, false);
        }
        let message = self.updates.end(result, &mut exchange.signals);
        let ok = problem.is_none();
        exchange
            .signals
            .extend(problem.map(|problem| AgentSignal::Problem { problem }));
        exchange.signals.push(AgentSignal::TurnEnded { ok, message });
        exchange.close = true;
    }

    fn asked(&mut self, id: Value, params: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        let name = asks::name(&id);
        let ask = AcpAsk::from_params(id, params);
        let tool = self.updates.ask(&params["toolCall"], &mut exchange.signals);
        if self.opening.asks.is_empty() {
            self.updates
                .tools
                .start(&ask.call, Some(clock.now_ms), &mut exchange.signals);
            return exchange.write(&json_rpc::result(&ask.id, &ask.allowed()));
        }
        if !self.asks.keep(&name, &ask) {
            let message = "too many requests wait for an answer".to_owned();
            self.updates.tools.deny(&ask.call, &message, &mut exchange.signals);
            let denied = ask.answered(&PermissionAnswer::Deny { message });
            return exchange.write(&json_rpc::result(&ask.id, &denied));
        }
        exchange.signals.push(AgentSignal::PermissionRequested {
            request: Box::new(asks::request(name, &ask, &tool)),
        });
    }

    /// Answers a request that is still pending. The message of a denial is sent before it as a message for the running
    /// turn, if the agent accepts those, so that the next request to the model contains it.
    fn answer(&mut self, id: &AskId, answer: &PermissionAnswer, exchange: &mut Exchange) {
        let Some(ask) = self.asks.take(id) else { return };
        let response = json_rpc::result(&ask.id, &ask.answered(answer));
        match answer {
            PermissionAnswer::Allow | PermissionAnswer::Words { .. } => {
                self.updates.tools.start(&ask.call, None, &mut exchange.signals);
                exchange.write(&response);
            }
            PermissionAnswer::Deny { message } => {
                self.updates.tools.deny(&ask.call, message, &mut exchange.signals);
                self.say(None, message, exchange);
                self.asks.defer_denial(response);
            }
        }
        self.send_due_denials(exchange);
    }

    fn send_due_denials(&mut self, exchange: &mut Exchange) {
        for denial in self.asks.due_denials() {
            exchange.write(&denial);
        }
    }

    fn steer(&mut self, id: SteeringId, text: String, exchange: &mut Exchange) {
        match self.stage {
            AcpStage::Opening => self.early.push((id, text)),
            AcpStage::Working => self.say(Some(id), &text, exchange),
            AcpStage::Closed => exchange.answer_message(id, false),
        }
    }

    /// Sends a message for the running turn in the form that the agent accepts.
    fn say(&mut self, id: Option<SteeringId>, text: &str, exchange: &mut Exchange) {
        let mut params = self.content(text);
        let (method, is_prompt) = match self.opening.steering {
            Steering::Prompt => ("session/prompt", true),
            Steering::Protocol if self.is_steerable => {
                params["_meta"] = json!({"steering": {"idleBehavior": "promptRequired"}});
                ("_session/steering", false)
            }
            Steering::Protocol | Steering::Never => return exchange.answer_message(id, false),
        };
        self.request(SentRequest::Message { id, is_prompt }, method, &params, exchange);
    }

    fn content(&self, text: &str) -> Value {
        json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]})
    }

    fn request(&mut self, sent: SentRequest, method: &str, params: &Value, exchange: &mut Exchange) {
        self.requests += 1;
        exchange.write(&json_rpc::request(self.requests, method, params));
        self.sent.insert(self.requests, sent);
    }
}

/// The session's configuration option with this category.
fn option<'a>(result: &'a Value, category: &str) -> Option<&'a Value> {
    array(result, "/configOptions").find(|option| text(option, "/category") == category)
}

/// Replaces the kind `Other` of a problem by `kind`.
fn or_else(problem: Problem, kind: ProblemKind) -> Problem {
    match problem.kind {
        ProblemKind::Other => Problem { kind, ..problem },
        _ => problem,
    }
}

#[cfg(test)]
#[path = "acp_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "acp/asking_tests.rs"]
mod asking_tests;
