//! Permission requests of an agent, and the answers that it offers.

use std::collections::HashMap;

use ralph_core::event::{AskId, PermissionAnswer, PermissionRequest};
use serde_json::{Value, json};

use super::{super::PENDING_CAP, tools::AcpToolUse};
use crate::dialect::{array, text};

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct AcpAsks {
    waiting: HashMap<AskId, AcpAsk>,
    /// Denials held back while other requests are pending: after the first denial, some agents treat all pending
    /// requests as denied.
    denials: Vec<Value>,
}

/// One request, with the data needed to answer it.
#[derive(Debug, Clone)]
pub(super) struct AcpAsk {
    pub(super) id: Value,
    pub(super) call: String,
    once: Option<String>,
    always: Option<String>,
    reject: Option<String>,
}

impl AcpAsk {
    pub(super) fn from_params(id: Value, params: &Value) -> Self {
        let option = |kind: &str| {
            let mut options = array(params, "/options");
            let found = options.find(|option| text(option, "/kind") == kind)?;
            Some(text(found, "/optionId").to_owned())
        };
        Self {
            id,
            call: text(params, "/toolCall/toolCallId").to_owned(),
            once: option("allow_once"),
            always: option("allow_always"),
            reject: option("reject_once").or_else(|| option("reject_always")),
        }
    }

    /// The response for a decision on this use alone. If the agent offers no such option, the request is cancelled: a
    /// broader permission would keep it from asking again.
    pub(super) fn answered(&self, answer: &PermissionAnswer) -> Value {
        outcome(match answer {
            PermissionAnswer::Allow | PermissionAnswer::Words { .. } => self.once.as_deref(),
            PermissionAnswer::Deny { .. } => self.reject.as_deref(),
        })
    }

    /// The response if everything is allowed.
    pub(super) fn allowed(&self) -> Value {
        outcome(self.once.as_deref().or(self.always.as_deref()))
    }
}

impl AcpAsks {
    /// Stores a request until it is answered; returns false if too many are pending.
    pub(super) fn keep(&mut self, id: &AskId, ask: &AcpAsk) -> bool {
        let room = self.waiting.len() < PENDING_CAP;
        if room {
            self.waiting.insert(id.clone(), ask.clone());
        }
        room
    }

    pub(super) fn take(&mut self, id: &AskId) -> Option<AcpAsk> {
        self.waiting.remove(id)
    }

    /// Removes the requests for a tool use that has ended.
    pub(super) fn take_for_call(&mut self, call: &str) -> Vec<AskId> {
        let about = self.waiting.extract_if(|_, ask| ask.call == call);
        about.map(|(id, _)| id).collect()
    }

    /// Holds a denial back until it may be sent.
    pub(super) fn defer_denial(&mut self, denial: Value) {
        self.denials.push(denial);
    }

    /// The denials that may be sent now.
    pub(super) fn due_denials(&mut self) -> Vec<Value> {
        match self.waiting.is_empty() {
            true => std::mem::take(&mut self.denials),
            false => Vec::new(),
        }
    }
}

/// The name of a request: its id as JSON, since `1` and `"1"` are different.
pub(super) fn name(id: &Value) -> AskId {
    AskId(id.to_string())
}

pub(super) fn request(id: AskId, ask: &AcpAsk, tool: &AcpToolUse) -> PermissionRequest {
    let title = match tool.title() {
        "" => tool.short_input(),
        title => match tool.command().filter(|_| tool.is_titled_by_name()) {
            Some(command) => command,
            None => title.to_owned(),
        },
    };
    PermissionRequest {
        call: Some(ask.call.clone()).filter(|call| !call.is_empty()),
        reason: tool.reason(),
        command: tool.command(),
        paths: tool.paths(),
        url: tool.url(),
        diff: tool.diff(),
        ..PermissionRequest::new(id, tool.name(), tool.kind(), title)
    }
}

fn outcome(option: Option<&str>) -> Value {
    match option {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
