//! JSON-RPC 2.0 in lines, as ACP uses it: read with tolerance, written to the letter.

use serde_json::{Map, Value, json};

/// The code of a method that is not known.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// What the other side wrote.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// Has to be answered under its id, which may be a number or a text.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to the request of that number: its result, or its error.
    Response {
        id: u64,
        outcome: Result<Value, Value>,
    },
}

impl Message {
    /// The message that `object` is; none if it is no message.
    pub(super) fn of(mut object: Map<String, Value>) -> Option<Self> {
        let id = object.remove("id").filter(|id| !id.is_null());
        let params = object.remove("params").unwrap_or_default();
        match (object.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Some(Message::Request { id, method, params }),
            (Some(Value::String(method)), None) => Some(Message::Notification { method, params }),
            (None, Some(id)) => {
                let error = object.remove("error").filter(|error| !error.is_null());
                Some(Message::Response {
                    id: number(&id)?,
                    outcome: match error {
                        Some(error) => Err(error),
                        None => Ok(object.remove("result").unwrap_or_default()),
                    },
                })
            }
            (_, _) => None,
        }
    }
}

/// The number of a request, also where the other side made a text of it.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(super) fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
