//! The client at the other end of the agent's stdin and stdout, in the Agent Client Protocol: JSON-RPC in lines.
//!
//! One thing is beyond the protocol: messages for the running turn (`_session/steering`), which an answer tells to have been taken
//! once they are in a request to the model.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
    io::{self, Write},
};

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INVALID_REQUEST: i64 = -32600;

/// What the client wrote.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to the request of that number; none if it was an error.
    Answer {
        id: u64,
        result: Option<Value>,
    },
}

impl Incoming {
    /// What a line says; none if it is no message.
    pub(super) fn of(line: &str) -> Option<Self> {
        let mut message: Map<String, Value> = serde_json::from_str(line).ok()?;
        let id = message.remove("id").filter(|id| !id.is_null());
        let params = message.remove("params").unwrap_or_default();
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
            (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
            (None, Some(id)) => Some(Incoming::Answer {
                id: id.as_u64()?,
                result: message.remove("result"),
            }),
            (_, _) => None,
        }
    }
}

/// How a request for permission was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Granted,
    Denied,
}

pub(super) struct Client {
    session: RefCell<String>,
    requests: Cell<u64>,
    waiting: RefCell<HashMap<u64, oneshot::Sender<Option<Value>>>>,
    messages: RefCell<VecDeque<Steered>>,
}

/// A message for the running turn, which has to be answered.
#[derive(Debug)]
pub(super) struct Steered {
    pub(super) id: Value,
    pub(super) text: String,
}

impl Client {
    pub(super) fn new() -> Self {
        Self {
            session: RefCell::default(),
            requests: Cell::new(0),
            waiting: RefCell::default(),
            messages: RefCell::default(),
        }
    }

    /// Says of which session the following is.
    pub(super) fn speak_of(&self, session: &str) {
        session.clone_into(&mut self.session.borrow_mut());
    }

    pub(super) fn respond(&self, id: &Value, result: &Value) {
        write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub(super) fn refuse(&self, id: &Value, code: i64, message: &str, data: &Value) {
        let mut error = json!({"code": code, "message": message});
        if !data.is_null() {
            error["data"] = data.clone();
        }
        write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// Tells something of the session.
    pub(super) fn tell(&self, kind: &str, mut update: Value) {
        update["sessionUpdate"] = kind.into();
        let params = json!({"sessionId": *self.session.borrow(), "update": update});
        write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Asks to be allowed what `call` is about.
    pub(super) async fn ask(&self, call: &Value) -> Permission {
        let option = |id: &str, kind: &str, name: &str| json!({"optionId": id, "kind": kind, "name": name});
        let options = [
            option("allow", "allow_once", "Allow"),
            option("reject", "reject_once", "Reject"),
        ];
        let id = self.requests.get() + 1;
        self.requests.set(id);
        let (answer, answered) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, answer);
        let params = json!({"sessionId": *self.session.borrow(), "toolCall": call, "options": options});
        write(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}));
        match answered.await {
            Ok(Some(result)) if result["outcome"]["optionId"] == "allow" => Permission::Granted,
            Ok(_) | Err(_) => Permission::Denied,
        }
    }

    /// Passes on the answer to a request.
    pub(super) fn answered(&self, id: u64, result: Option<Value>) {
        if let Some(waiting) = self.waiting.borrow_mut().remove(&id) {
            _ = waiting.send(result); // the turn was cancelled
        }
    }

    /// Keeps a message until the running turn takes it.
    pub(super) fn steer(&self, id: Value, text: String) {
        self.messages.borrow_mut().push_back(Steered { id, text });
    }

    pub(super) fn has_messages(&self) -> bool {
        !self.messages.borrow().is_empty()
    }

    /// The messages so far, each of which is answered as taken.
    pub(super) fn take_messages(&self) -> Vec<String> {
        let messages = std::mem::take(&mut *self.messages.borrow_mut());
        let taken = messages.into_iter().map(|message| {
            self.respond(&message.id, &json!({"outcome": "injected"}));
            message.text
        });
        taken.collect()
    }

    /// Gives back the messages that come too late, and forgets what was asked.
    pub(super) fn end_turn(&self) {
        for message in std::mem::take(&mut *self.messages.borrow_mut()) {
            self.leave(&message.id);
        }
        self.waiting.borrow_mut().clear();
    }

    /// Answers a message that no turn takes.
    pub(super) fn leave(&self, id: &Value) {
        self.respond(id, &json!({"outcome": "promptRequired"}));
    }
}

/// The text of a prompt, which is a list of contents.
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

/// Writes a line. A client that reads no more closes the agent's stdin as well, which ends the agent.
fn write(message: &Value) {
    let line = format!("{message}\n");
    let mut out = io::stdout().lock();
    _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_requests_notifications_answers_or_nothing() {
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"x":1}}"#;
        assert_eq!(
            Incoming::of(request),
            Some(Incoming::Request {
                id: json!("a"),
                method: "initialize".to_owned(),
                params: json!({"x": 1})
            })
        );
        let told = Incoming::of(r#"{"method":"session/cancel"}"#);
        assert_eq!(
            told,
            Some(Incoming::Notification {
                method: "session/cancel".to_owned(),
                params: Value::Null
            })
        );
        let failed = Incoming::of(r#"{"id":3,"error":{"code":1}}"#);
        assert_eq!(failed, Some(Incoming::Answer { id: 3, result: None }));
        for nothing in [
            "",
            "[]",
            "{}",
            "no json",
            r#"{"id":null}"#,
            r#"{"id":"x","result":1}"#,
            r#"{"method":7}"#,
        ] {
            assert_eq!(Incoming::of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_prompt_is_the_text_of_its_contents() {
        let params = json!({"prompt": [
            {"type": "text", "text": "Do it."}, {"type": "image"},
            {"type": "resource", "resource": {"text": "content"}}, 7,
        ]});
        assert_eq!(text_of(&params), "Do it.\n\ncontent");
    }
}
