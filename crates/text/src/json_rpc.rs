//! The messages of JSON-RPC 2.0, as agents, MCP servers and language servers use them: tolerant in reading, strict in
//! writing.

use serde_json::{Map, Value, json};

/// Error codes.
pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;

/// A message from the other side.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonRpcMessage {
    /// A request, which must be answered under its id (a number or a string).
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The response to the request with this number: a result or an error.
    Response {
        id: u64,
        outcome: Result<Value, Value>,
    },
}

impl JsonRpcMessage {
    /// Parses the text of a message; `None` if it is not a message.
    pub fn parse(text: &[u8]) -> Option<Self> {
        Self::from_object(serde_json::from_slice(text).ok()?)
    }

    /// Parses an object; `None` if it is not a message.
    pub fn from_object(mut object: Map<String, Value>) -> Option<Self> {
        let id = object.remove("id").filter(|id| !id.is_null());
        let params = object.remove("params").unwrap_or_default();
        match (object.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Some(JsonRpcMessage::Request { id, method, params }),
            (Some(Value::String(method)), None) => Some(JsonRpcMessage::Notification { method, params }),
            (None, Some(id)) => {
                let error = object.remove("error").filter(|error| !error.is_null());
                Some(JsonRpcMessage::Response {
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

/// The number of a request, which the other side may have converted to a string.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<JsonRpcMessage> {
        JsonRpcMessage::parse(line.as_bytes())
    }

    #[test]
    fn lines_are_requests_notifications_answers_or_nothing() {
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"x":1}}"#;
        assert_eq!(
            of(request),
            Some(JsonRpcMessage::Request {
                id: json!("a"),
                method: "initialize".to_owned(),
                params: json!({"x": 1})
            })
        );
        let told = of(r#"{"method":"session/cancel"}"#);
        assert_eq!(
            told,
            Some(JsonRpcMessage::Notification {
                method: "session/cancel".to_owned(),
                params: Value::Null
            })
        );
        let failed = of(r#"{"id":"3","error":{"code":1}}"#);
        assert_eq!(
            failed,
            Some(JsonRpcMessage::Response {
                id: 3,
                outcome: Err(json!({"code": 1}))
            })
        );
        for nothing in [
            "",
            "[]",
            "{}",
            "no json",
            r#"{"id":null}"#,
            r#"{"id":"x","result":1}"#,
            r#"{"method":7}"#,
        ] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
