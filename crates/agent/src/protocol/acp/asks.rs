//! What an agent asks to be allowed, and the answers that it offers to choose from.

use std::collections::HashMap;

use ralph_core::event::{AskId, PermissionAnswer, PermissionRequest};
use serde_json::{Value, json};

use super::{super::PENDING_CAP, tools::Tool};
use crate::dialect::{array, text};

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Asks {
    waiting: HashMap<AskId, Ask>,
    /// Denials that are held back as long as others wait: with the first, some agents take all of them as denied.
    denials: Vec<Value>,
}

/// One request, as it has to be answered.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) id: Value,
    pub(super) call: String,
    once: Option<String>,
    always: Option<String>,
    reject: Option<String>,
}

impl Ask {
    pub(super) fn of(id: Value, params: &Value) -> Self {
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

    /// The answer to somebody who decided on this use alone. Where only more than that is offered, it is none:
    /// what follows would not be asked any more.
    pub(super) fn answered(&self, answer: &PermissionAnswer) -> Value {
        outcome(match answer {
            PermissionAnswer::Allow | PermissionAnswer::Words { .. } => self.once.as_deref(),
            PermissionAnswer::Deny { .. } => self.reject.as_deref(),
        })
    }

    /// The answer where everything is allowed.
    pub(super) fn allowed(&self) -> Value {
        outcome(self.once.as_deref().or(self.always.as_deref()))
    }
}

impl Asks {
    /// Keeps a request until it is answered; false if too many wait.
    pub(super) fn keep(&mut self, id: &AskId, ask: &Ask) -> bool {
        let room = self.waiting.len() < PENDING_CAP;
        if room {
            self.waiting.insert(id.clone(), ask.clone());
        }
        room
    }

    pub(super) fn take(&mut self, id: &AskId) -> Option<Ask> {
        self.waiting.remove(id)
    }

    /// Takes the requests about a use that has ended.
    pub(super) fn take_of(&mut self, call: &str) -> Vec<AskId> {
        let about = self.waiting.extract_if(|_, ask| ask.call == call);
        about.map(|(id, _)| id).collect()
    }

    /// Keeps a denial until it may be given.
    pub(super) fn hold(&mut self, denial: Value) {
        self.denials.push(denial);
    }

    /// The denials that may be given now.
    pub(super) fn due(&mut self) -> Vec<Value> {
        match self.waiting.is_empty() {
            true => std::mem::take(&mut self.denials),
            false => Vec::new(),
        }
    }
}

/// The name of a request: its id as JSON, since `1` and `"1"` are two.
pub(super) fn name(id: &Value) -> AskId {
    AskId(id.to_string())
}

pub(super) fn request(id: AskId, ask: &Ask, tool: &Tool) -> PermissionRequest {
    PermissionRequest {
        id,
        call: Some(ask.call.clone()).filter(|call| !call.is_empty()),
        tool: tool.name().to_owned(),
        kind: tool.kind(),
        title: match tool.title() {
            "" => tool.short_input(),
            title => title.to_owned(),
        },
        reason: tool.reason(),
        command: tool.command(),
        paths: tool.paths(),
        url: tool.url(),
        diff: tool.diff(),
        questions: Vec::new(),
    }
}

fn outcome(option: Option<&str>) -> Value {
    match option {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
