//! The messages in a line of a client, and the responses to what is no message: the client may wait for one. Pure.

use ralph_text::json_rpc::{INVALID_REQUEST, JsonRpcMessage, PARSE_ERROR, refusal};
use serde_json::Value;

use super::InputLine;

/// Most messages of one batch.
const BATCH: usize = 64;

/// Parses a line with one message, or returns the error response to it; `None` if nothing has to be done.
pub fn received(line: &InputLine) -> Option<Result<JsonRpcMessage, Value>> {
    message(value(line)?)
}

/// As [`received`], but the line may be a batch of messages.
pub fn received_batch(line: &InputLine) -> Vec<Result<JsonRpcMessage, Value>> {
    match value(line) {
        Some(Ok(Value::Array(batch))) if (1..=BATCH).contains(&batch.len()) => {
            batch.into_iter().map(Ok).filter_map(message).collect()
        }
        value => value.and_then(message).into_iter().collect(),
    }
}

/// The value of a line, or the response to what is no JSON; `None` if the line is empty.
fn value(line: &InputLine) -> Option<Result<Value, Value>> {
    let no_json = |why: serde_json::Error| refusal(&Value::Null, PARSE_ERROR, &format!("the line is no JSON: {why}"));
    match line {
        InputLine::TooLong => Some(Err(invalid("the line is too long, and was left out"))),
        InputLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => None,
        InputLine::Whole(line) => Some(serde_json::from_slice(line).map_err(no_json)),
    }
}

fn invalid(why: &str) -> Value {
    refusal(&Value::Null, INVALID_REQUEST, why)
}

/// Returns the message in `value`; `None` for a response without a number, which answers no request of ralph.
fn message(value: Result<Value, Value>) -> Option<Result<JsonRpcMessage, Value>> {
    let object = match value {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Some(Err(invalid("a message is an object"))),
        Err(refusal) => return Some(Err(refusal)),
    };
    // Another number is read inexactly, so that its response would have another id.
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let is_response = object.contains_key("result") || object.contains_key("error");
    match (object.get("method"), object.get("id")) {
        (Some(Value::String(_)), Some(id)) if !is_id(id) => {
            Some(Err(invalid("the id of a request is a string or an integer of 64 bits")))
        }
        (None, Some(id)) if !is_response => Some(Err(refusal(id, INVALID_REQUEST, "a message names a method"))),
        (Some(Value::String(_)), _) | (None, Some(_)) => JsonRpcMessage::from_object(object).map(Ok),
        (_, _) => Some(Err(invalid("a message names a method"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> Vec<Result<JsonRpcMessage, Value>> {
        received_batch(&InputLine::Whole(line.to_vec()))
    }

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
            br#"{"id":12345678901234567890123,"method":"ping"}"#,
        ] {
            assert_eq!(code(line), -32600, "{}", String::from_utf8_lossy(line));
        }
        let deep = "[".repeat(100_000);
        assert_eq!(code(deep.as_bytes()), -32700);
        assert!(matches!(received(&InputLine::TooLong), Some(Err(_))));
    }

    #[test]
    fn answers_and_empty_lines_need_no_answer_and_a_batch_has_several_messages() {
        assert_eq!(read(b""), []);
        assert_eq!(read(b" \r"), []);
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":"x","result":{}}"#), []);
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#), []);
        let batch = read(br#"[{"method":"a"},{"id":"x","method":"b","params":{"c":1}},3,{"id":7,"result":{}}]"#);
        assert!(
            matches!(
                &batch[..],
                [
                    Ok(JsonRpcMessage::Notification { .. }),
                    Ok(JsonRpcMessage::Request { .. }),
                    Err(_),
                    Ok(JsonRpcMessage::Response { id: 7, .. })
                ]
            ),
            "{batch:?}"
        );
        let batch = InputLine::Whole(br#"[{"method":"a"}]"#.to_vec());
        assert!(matches!(received(&batch), Some(Err(_))), "where there are no batches");
    }
}
