//! The part of the Model Context Protocol that a server with tools needs: JSON-RPC 2.0 in lines. Pure.

use ralph_text::json_rpc::{INVALID_REQUEST, JsonRpcMessage, PARSE_ERROR, refusal};
use serde_json::{Value, json};

/// The supported versions, the latest first. They do not differ for tools that answer with text.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Most messages of one batch.
const BATCH: usize = 64;

/// A message from the client, or the error response to an invalid one.
pub(crate) type ClientMessage = Result<JsonRpcMessage, Value>;

/// Parses a line; a batch contains several messages. Responses are dropped, since the server sends no requests.
pub(crate) fn read(line: &[u8]) -> Vec<ClientMessage> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) if batch.is_empty() || batch.len() > BATCH => {
            vec![broken(&Value::Null, &format!("a batch has 1 to {BATCH} messages"))]
        }
        Ok(Value::Array(batch)) => batch.into_iter().filter_map(message).collect(),
        Ok(value) => message(value).into_iter().collect(),
        Err(why) => vec![Err(refusal(
            &Value::Null,
            PARSE_ERROR,
            &format!("the line is no JSON: {why}"),
        ))],
    }
}

fn broken(id: &Value, why: &str) -> ClientMessage {
    Err(refusal(id, INVALID_REQUEST, why))
}

fn message(value: Value) -> Option<ClientMessage> {
    let Value::Object(object) = value else {
        return Some(broken(&Value::Null, "a message is an object"));
    };
    match (object.get("method"), object.get("id")) {
        (None, Some(_)) if object.contains_key("result") || object.contains_key("error") => None,
        (Some(Value::String(_)), None | Some(Value::String(_) | Value::Number(_))) => {
            JsonRpcMessage::from_object(object).map(Ok)
        }
        (Some(Value::String(_)), Some(_)) => Some(broken(&Value::Null, "the id of a request is a string or a number")),
        (_, id) => Some(broken(id.unwrap_or(&Value::Null), "a message names a method")),
    }
}

/// The version to use with a client that requests `wanted`.
pub(super) fn version(wanted: &Value) -> &'static str {
    let known = VERSIONS.iter().find(|known| wanted == **known);
    known.unwrap_or(&VERSIONS[0])
}

/// The error response to a line that exceeds the limit.
pub(super) fn too_long(most_bytes: usize) -> Value {
    let why = format!("the line is longer than {most_bytes} bytes, and was left out");
    refusal(&Value::Null, INVALID_REQUEST, &why)
}

/// The result of a tool. Refusals are results as well, since models do not see JSON-RPC errors.
pub(super) fn tool_result(text: &str, refused: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": refused})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &[u8]) -> i64 {
        match &read(line)[..] {
            [Err(answer)] => answer["error"]["code"].as_i64().expect("a code"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_why_and_nothing_panics() {
        for line in [
            &b"rubbish"[..],
            b"{\"half\": ",
            b"\xff\xfe",
            b"{\"id\":1,\"method\":\"x\"} trailing",
        ] {
            assert_eq!(code(line), -32700, "{}", String::from_utf8_lossy(line));
        }
        for line in [
            &b"3"[..],
            b"[]",
            b"{}",
            br#"{"id":1}"#,
            br#"{"id":1,"method":3}"#,
            br#"{"id":null,"method":"ping"}"#,
            br#"{"id":{"a":1},"method":"ping"}"#,
        ] {
            assert_eq!(code(line), -32600, "{}", String::from_utf8_lossy(line));
        }
        let deep = "[".repeat(100_000);
        assert_eq!(code(deep.as_bytes()), -32700);
    }

    #[test]
    fn answers_and_empty_lines_are_no_messages_and_a_batch_has_several() {
        assert_eq!(read(b""), []);
        assert_eq!(read(b" \r"), []);
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), []);
        let batch = read(br#"[{"method":"a"},{"id":"x","method":"b","params":{"c":1}},3]"#);
        assert!(
            matches!(
                &batch[..],
                [
                    Ok(JsonRpcMessage::Notification { .. }),
                    Ok(JsonRpcMessage::Request { .. }),
                    Err(_)
                ]
            ),
            "{batch:?}"
        );
    }

    #[test]
    fn a_version_that_both_speak_is_the_clients_and_else_the_latest() {
        for known in VERSIONS {
            assert_eq!(version(&json!(known)), known);
        }
        for unknown in [json!("2031-01-01"), json!(3), Value::Null] {
            assert_eq!(version(&unknown), VERSIONS[0]);
        }
    }
}
