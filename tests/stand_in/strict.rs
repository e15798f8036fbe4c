//! The checks of a real API in a request: each call has its result, and the conversation fits the window of the model.

use serde_json::Value;

/// Bytes of a text that take as many tokens as an image.
const IMAGE_BYTES: usize = 4 * 1600;
const BYTES_PER_TOKEN: usize = 4;

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationPart {
    /// A text of either side.
    Said,
    /// A call of a tool, with its id.
    Call(String),
    /// The result of the call with this id.
    Result(String),
}

/// The flaw of a request for a model with a window of `window` tokens; `None` if there is none. `most` is the length
/// of the answer that it asks for.
pub fn flaw(body: &Value, parts: &[ConversationPart], most: usize, window: usize) -> Option<String> {
    let tokens = size(body) / BYTES_PER_TOKEN + most;
    if tokens > window {
        return Some(format!("{tokens} tokens exceed the context window of {window}"));
    }
    let (mut open, mut answered): (Vec<&String>, bool) = (Vec::new(), false);
    for (at, part) in parts.iter().enumerate() {
        match part {
            ConversationPart::Call(id) if !answered => open.push(id),
            ConversationPart::Result(id) if open.contains(&id) => {
                open.retain(|known| *known != id);
                answered = !open.is_empty();
            }
            ConversationPart::Said if open.is_empty() => {}
            part => return Some(format!("part {at} is {part:?} while {open:?} have no result")),
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} have no result"))
}

/// The size of a body in bytes, as a model sees it. An image counts by itself, however many bytes it has.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) if text.starts_with("data:image/") => IMAGE_BYTES,
        // Escapes are no tokens.
        Value::String(text) => text.len() + 2,
        Value::Object(fields) if fields.contains_key("media_type") => IMAGE_BYTES,
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + 4 + size(value)).sum(),
        Value::Array(items) => items.iter().map(|item| 1 + size(item)).sum(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_without_its_result_and_a_result_without_its_call_are_flaws() {
        use ConversationPart::{Call, Result, Said};
        let (call, result) = (|id: &str| Call(id.to_owned()), |id: &str| Result(id.to_owned()));
        let flaw = |parts: &[ConversationPart]| flaw(&json!({}), parts, 0, 100);
        let whole = [
            Said,
            call("a"),
            call("b"),
            result("b"),
            result("a"),
            call("c"),
            result("c"),
            Said,
        ];
        assert_eq!(flaw(&whole), None);
        for parts in [
            &[call("a"), Said][..],
            &[call("a")],
            &[result("a")],
            &[call("a"), call("b"), result("a"), call("c")],
            &[call("a"), result("a"), result("a")],
        ] {
            assert!(flaw(parts).is_some(), "{parts:?}");
        }
    }

    #[test]
    fn what_exceeds_the_window_is_a_flaw_and_an_image_counts_by_itself() {
        let image = json!([{"image_url": format!("data:image/png;base64,{}", "x".repeat(1 << 20))}]);
        let text = json!(["x".repeat(8000)]);
        assert_eq!(flaw(&image, &[], 0, 1700), None);
        assert_eq!(flaw(&text, &[], 0, 2100), None);
        assert!(flaw(&text, &[], 200, 2100).is_some());
    }
}
