//! The model APIs that the server speaks, one module each.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::{
    connection::{AnswerConnection, Halt},
    log::ModelRequest,
    scenario::ModelAnswer,
    strict::ConversationPart,
};

/// One model API: reads its requests, writes its answers.
pub trait ModelProtocol: Sync {
    fn answers(&self, method: &str, path: &str) -> bool;
    /// Reads a request's body.
    fn read(&self, body: &Value) -> ConversationTexts;
    /// The body of an answer with an error status.
    fn error_body(&self, status: u16) -> Value;
    /// The status that corresponds to [`ModelAnswer::error`] within a stream.
    fn failed(&self) -> u16 {
        500
    }
    /// Streams an answer.
    fn stream(&self, request: &ModelRequest, answer: &ModelAnswer, out: &mut AnswerConnection) -> Result<(), Halt>;
    /// The body of an answer in one piece; `None` if the request asks for a stream.
    fn whole(&self, request: &ModelRequest, answer: &ModelAnswer) -> Option<Value>;
}

/// The content of a request, independent of its API.
#[derive(Debug, Default)]
pub struct ConversationTexts {
    pub tools: Vec<String>,
    pub user_texts: Vec<String>,
    pub tool_results: Vec<String>,
    /// All of it in order; empty for APIs whose requests are not checked.
    pub parts: Vec<ConversationPart>,
}

/// The API that a request addresses.
pub fn for_request(method: &str, path: &str) -> Option<&'static dyn ModelProtocol> {
    const ALL: [&dyn ModelProtocol; 4] = [
        &responses::Responses,
        &chat::Chat,
        &anthropic::Anthropic,
        &gemini::Gemini,
    ];
    ALL.into_iter().find(|protocol| protocol.answers(method, path))
}

/// Answers of a server that need no model: token counts and the list of models.
pub fn without_model(method: &str, path: &str) -> Option<Value> {
    match method {
        "POST" if path.ends_with("/messages/count_tokens") => Some(json!({ "input_tokens": 1000 })),
        "POST" if path.ends_with(":countTokens") => Some(json!({ "totalTokens": 1000 })),
        "GET" if path.ends_with("/models") => {
            Some(json!({ "object": "list", "data": [{ "id": "stand-in", "object": "model" }] }))
        }
        _ => None,
    }
}

/// The body of an error in the format of both OpenAI APIs.
fn openai_error(status: u16) -> Value {
    let (kind, code, message) = match status {
        401 => (
            "invalid_request_error",
            Some("invalid_api_key"),
            "invalid API key (stand-in)",
        ),
        404 => (
            "invalid_request_error",
            Some("model_not_found"),
            "model not found (stand-in)",
        ),
        429 => (
            "rate_limit_exceeded",
            Some("rate_limit_exceeded"),
            "rate limit reached (stand-in)",
        ),
        400..=499 => ("invalid_request_error", None, "request refused (stand-in)"),
        _ => ("server_error", None, "server error (stand-in)"),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// The most tokens that a request lets an answer have; 0 if it does not say.
pub fn longest_answer(body: &Value) -> usize {
    let keys = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let most = keys.iter().find_map(|key| body[key].as_u64());
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(0)
}

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The items of a list; empty if `value` is not one.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a content, which is a string or a list of parts with text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.to_string(),
    }
}

/// The texts of a content, one for each part.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        parts => list(parts)
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
    }
}
