//! Permission requests of codex, and the settings that make it ask.
//!
//! With the policy `untrusted` codex asks before each command, each file change and most tools of MCP servers. Tools
//! that it uses without asking are switched off, or configured to ask by name. A use without a request ends the turn.

use std::collections::{HashMap, HashSet};

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, PermissionRequest, Problem, ToolKind, ToolKinds};
use serde_json::{Map, Value, json};

use super::{
    Exchange, PENDING_CAP,
    codex_items::{change_request, command_request, question_request, tool_request},
    seam::used_without_asking,
};
use crate::dialect::{array, one_line, text};

/// The kinds of tools for which codex asks.
pub(super) const KINDS: ToolKinds = ToolKinds::from_kinds(&[ToolKind::Shell, ToolKind::Edit, ToolKind::Mcp]);
/// The kinds of tools that codex would use without asking: viewing images, web search, sub-agents and goals.
pub(super) const SWITCHED_OFF: ToolKinds = ToolKinds::from_kinds(&[ToolKind::Read, ToolKind::Fetch, ToolKind::Other]);

/// Most uses that are remembered as asked for.
const ASKED_CAP: usize = 4096;

/// The requests of one turn.
#[derive(Debug, Default)]
pub(super) struct CodexAsks {
    /// Pending requests.
    pending: HashMap<AskId, PendingCodexAsk>,
    /// Uses that were asked for.
    asked: HashSet<String>,
    /// File changes in progress: a request contains only their id.
    changes: HashMap<String, Value>,
}

/// A pending request.
#[derive(Debug)]
struct PendingCodexAsk {
    /// The id as codex wrote it.
    id: Value,
    title: String,
    form: AnswerForm,
}

/// The form of an answer.
#[derive(Debug)]
enum AnswerForm {
    Approval,
    /// An elicitation of an MCP server.
    Elicitation,
    /// Answers by the ids of the questions.
    Questions(Vec<String>),
}

/// A response to write, and a reason that the model has to be sent before it.
pub(super) struct CodexAnswer {
    pub(super) reason: Option<String>,
    pub(super) response: Value,
}

impl CodexAsks {
    /// Takes the start of an item.
    pub(super) fn item_started(&mut self, item: &Value) {
        if text(item, "/type") == "fileChange" && self.changes.len() < PENDING_CAP {
            self.changes
                .insert(text(item, "/id").to_owned(), item["changes"].clone());
        }
    }

    /// Takes the end of an item. Returns a problem if the use was not asked for although rules concern it.
    pub(super) fn item_completed(&mut self, item: &Value, concerned: ToolKinds) -> Option<Problem> {
        let id = text(item, "/id");
        self.changes.remove(id);
        let kind = kind_of(item).filter(|kind| !id.is_empty() && concerned.has(*kind))?;
        let name = match kind {
            ToolKind::Mcp => format!("mcp__{}__{}", text(item, "/server"), text(item, "/tool")),
            ToolKind::Shell | ToolKind::Edit | ToolKind::Read | ToolKind::Fetch | ToolKind::Other => id.to_owned(),
        };
        if self.asked.contains(&name) || self.asked.len() >= ASKED_CAP || text(item, "/status") == "declined" {
            return None;
        }
        let what = match kind {
            ToolKind::Shell => text(item, "/command"),
            ToolKind::Mcp => &name,
            ToolKind::Edit | ToolKind::Read | ToolKind::Fetch | ToolKind::Other => text(item, "/type"),
        };
        Some(used_without_asking("codex", &one_line(what)))
    }

    /// Takes a permission request; returns an error if the request is of another kind.
    pub(super) fn asked(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        exchange: &mut Exchange,
    ) -> Result<(), ()> {
        let ask = ask_id(id);
        let (form, request) = match method {
            "item/commandExecution/requestApproval" => (AnswerForm::Approval, command_request(ask, params)),
            "item/fileChange/requestApproval" => {
                let changes = self.changes.get(text(params, "/itemId")).unwrap_or(&Value::Null);
                (AnswerForm::Approval, change_request(ask, params, changes))
            }
            "mcpServer/elicitation/request" if text(params, "/_meta/codex_approval_kind") == "mcp_tool_call" => {
                (AnswerForm::Elicitation, tool_request(ask, params))
            }
            "item/tool/requestUserInput" if array(params, "/questions").next().is_some() => {
                let names = array(params, "/questions").map(|question| text(question, "/id").to_owned());
                (AnswerForm::Questions(names.collect()), question_request(ask, params))
            }
            _ => return Err(()),
        };
        // A question cannot be refused.
        if self.pending.len() >= PENDING_CAP && request.questions.is_empty() {
            exchange.write(&json!({"id": id, "result": form.denial()}));
            return Ok(());
        }
        self.remember(&request);
        let pending = PendingCodexAsk {
            id: id.clone(),
            title: request.title.clone(),
            form,
        };
        self.pending.insert(request.id.clone(), pending);
        exchange.signals.push(AgentSignal::PermissionRequested {
            request: Box::new(request),
        });
        Ok(())
    }

    /// Remembers that a use was asked for. For tools of MCP servers codex does not report the use's id.
    fn remember(&mut self, request: &PermissionRequest) {
        if self.asked.len() < ASKED_CAP {
            self.asked
                .insert(request.call.clone().unwrap_or_else(|| request.tool.clone()));
        }
    }

    /// The answer to a pending request; `None` for any other request.
    pub(super) fn answer(&mut self, id: &AskId, answer: &PermissionAnswer) -> Option<CodexAnswer> {
        let PendingCodexAsk { id, title, form } = self.pending.remove(id)?;
        let (reason, result) = match (answer, &form) {
            (PermissionAnswer::Words { answers }, _) => (None, form.words(answers)),
            // The answer's text says that no user is available.
            (PermissionAnswer::Deny { message }, AnswerForm::Questions(names)) => {
                (None, form.words(&vec![vec![message.clone()]; names.len()]))
            }
            (PermissionAnswer::Allow, _) => (None, form.permission()),
            (PermissionAnswer::Deny { message }, AnswerForm::Approval | AnswerForm::Elicitation) => {
                let reason = (!message.is_empty()).then(|| format!("Denied: {title}\n{message}"));
                (reason, form.denial())
            }
        };
        let response = json!({"id": id, "result": result});
        Some(CodexAnswer { reason, response })
    }

    /// Removes a request that is no longer pending.
    pub(super) fn resolved(&mut self, id: &Value, out: &mut Vec<AgentSignal>) {
        let id = ask_id(id);
        if self.pending.remove(&id).is_some() {
            out.push(AgentSignal::PermissionWithdrawn { id });
        }
    }
}

impl AnswerForm {
    /// Only for this use: a permission for the session would keep codex from asking again.
    fn permission(&self) -> Value {
        match self {
            AnswerForm::Approval => json!({"decision": "accept"}),
            AnswerForm::Elicitation => json!({"action": "accept", "content": {}}),
            AnswerForm::Questions(_) => self.words(&[]),
        }
    }

    fn denial(&self) -> Value {
        match self {
            AnswerForm::Approval => json!({"decision": "decline"}),
            AnswerForm::Elicitation => json!({"action": "decline"}),
            AnswerForm::Questions(_) => self.words(&[]),
        }
    }

    /// Answers to the questions, in order.
    fn words(&self, answers: &[Vec<String>]) -> Value {
        let names: &[String] = match self {
            AnswerForm::Questions(names) => names,
            AnswerForm::Approval | AnswerForm::Elicitation => &[],
        };
        let pairs = names.iter().zip(answers);
        let answers: Map<String, Value> = pairs
            .map(|(name, answer)| (name.clone(), json!({"answers": answer})))
            .collect();
        json!({"answers": answers})
    }
}

/// Converts an id to a name: codex uses numbers, but any JSON value works.
fn ask_id(id: &Value) -> AskId {
    AskId(id.to_string())
}

/// The kind of tool that an item uses; `None` if it is not a tool use.
fn kind_of(item: &Value) -> Option<ToolKind> {
    match text(item, "/type") {
        "commandExecution" => Some(ToolKind::Shell),
        "fileChange" => Some(ToolKind::Edit),
        "imageView" => Some(ToolKind::Read),
        "webSearch" => Some(ToolKind::Fetch),
        // codex's own tools under the server name `codex` only list resources.
        "mcpToolCall" if text(item, "/server") != "codex" => Some(ToolKind::Mcp),
        _ => None,
    }
}

/// The settings of a thread that make codex ask for tools of the kinds `concerned`, or switch them off. `servers` are
/// the MCP servers that codex knows, by name.
pub(super) fn settings(concerned: ToolKinds, servers: &Value) -> Value {
    let mut settings = json!({});
    if concerned.has(ToolKind::Fetch) {
        settings["web_search"] = json!("disabled");
    }
    if concerned.has(ToolKind::Read) {
        settings["features"]["view_image"] = json!(false);
    }
    if concerned.has(ToolKind::Other) {
        for feature in ["goals", "image_generation", "multi_agent"] {
            settings["features"][feature] = json!(false);
        }
    }
    if concerned.has(ToolKind::Mcp) {
        for (name, server) in servers.as_object().into_iter().flatten() {
            let settings = &mut settings["mcp_servers"][name];
            settings["default_tools_approval_mode"] = json!("prompt");
            for tool in server["tools"].as_object().into_iter().flat_map(Map::keys) {
                settings["tools"][tool]["approval_mode"] = json!("prompt");
            }
        }
    }
    settings
}
