//! The client at the other end of stdin and stdout, in the Agent Client Protocol: JSON-RPC in lines.
//!
//! One method extends the protocol: messages for the running turn (`_session/steering`). They are answered as injected
//! once they are part of a request to the model.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, Write},
};

use ralph_text::json_rpc;
use serde_json::{Value, json};

use crate::json_rpc::Peer;

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionOutcome {
    Granted,
    Denied,
}

#[derive(Default)]
pub(super) struct AcpClient {
    session: RefCell<String>,
    pub(super) peer: Peer,
    messages: RefCell<VecDeque<QueuedMessage>>,
}

/// A message for the running turn that is not answered yet.
#[derive(Debug)]
pub(super) struct QueuedMessage {
    pub(super) id: Value,
    pub(super) text: String,
}

impl AcpClient {
    /// Sets the session that later notifications concern.
    pub(super) fn set_session(&self, session: &str) {
        session.clone_into(&mut self.session.borrow_mut());
    }

    pub(super) fn respond(&self, id: &Value, result: &Value) {
        write(&json_rpc::result(id, result));
    }

    pub(super) fn refuse(&self, id: &Value, code: i64, message: &str, data: &Value) {
        let mut refusal = json_rpc::refusal(id, code, message);
        if !data.is_null() {
            refusal["error"]["data"] = data.clone();
        }
        write(&refusal);
    }

    /// Sends an update of the session.
    pub(super) fn send_update(&self, kind: &str, mut update: Value) {
        update["sessionUpdate"] = kind.into();
        let params = json!({"sessionId": *self.session.borrow(), "update": update});
        write(&json_rpc::notification("session/update", &params));
    }

    /// Requests permission for `call`.
    pub(super) async fn ask(&self, call: &Value) -> PermissionOutcome {
        let option = |id: &str, kind: &str, name: &str| json!({"optionId": id, "kind": kind, "name": name});
        let options = [
            option("allow", "allow_once", "Allow"),
            option("reject", "reject_once", "Reject"),
        ];
        let params = json!({"sessionId": *self.session.borrow(), "toolCall": call, "options": options});
        let Ok((message, sent)) = self.peer.request("session/request_permission", &params) else {
            return PermissionOutcome::Denied;
        };
        write(&message);
        match sent.answer().await {
            Ok(result) if result["outcome"]["optionId"] == "allow" => PermissionOutcome::Granted,
            Ok(_) | Err(_) => PermissionOutcome::Denied,
        }
    }

    /// Queues a message for the running turn.
    pub(super) fn steer(&self, id: Value, text: String) {
        self.messages.borrow_mut().push_back(QueuedMessage { id, text });
    }

    pub(super) fn has_messages(&self) -> bool {
        !self.messages.borrow().is_empty()
    }

    /// Takes the queued messages, and answers each as injected.
    pub(super) fn take_messages(&self) -> Vec<String> {
        let messages = std::mem::take(&mut *self.messages.borrow_mut());
        let taken = messages.into_iter().map(|message| {
            self.respond(&message.id, &json!({"outcome": "injected"}));
            message.text
        });
        taken.collect()
    }

    /// Returns messages that come too late.
    pub(super) fn end_turn(&self) {
        for message in std::mem::take(&mut *self.messages.borrow_mut()) {
            self.leave(&message.id);
        }
    }

    /// Answers a message as not injected.
    pub(super) fn leave(&self, id: &Value) {
        self.respond(id, &json!({"outcome": "promptRequired"}));
    }
}

/// The text of a prompt, which is a list of content blocks.
pub(super) fn text_of(params: &Value) -> String {
    let contents = params["prompt"].as_array().into_iter().flatten();
    let texts = contents.filter_map(|content| match content["type"].as_str()? {
        "text" => content["text"].as_str().map(str::to_owned),
        "resource_link" => content["uri"].as_str().map(str::to_owned),
        "resource" => content["resource"]["text"].as_str().map(str::to_owned),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Writes a line. A client that stops reading also closes the agent's stdin, which ends the agent.
fn write(message: &Value) {
    let line = format!("{message}\n");
    let mut out = io::stdout().lock();
    _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_the_text_of_its_contents() {
        let params = json!({"prompt": [
            {"type": "text", "text": "Do it."}, {"type": "image"},
            {"type": "resource", "resource": {"text": "content"}}, 7,
        ]});
        assert_eq!(text_of(&params), "Do it.\n\ncontent");
    }
}
