//! OpenAI's Responses API.
//!
//! The server stores nothing: each request has the whole conversation, with the model's reasoning in encrypted form.
//! The API refuses reasoning that is not directly followed by what came of it, so the order of items is kept.

use serde_json::{Value, json};

use super::reply::{AnswerPiece, AnswerStop, PartialReply, arguments, number, push_arguments};
use crate::native::{
    failure::ApiFailure,
    message::{ChatMessage, ModelAnswer, ModelRequest, Reasoning, ReasoningProof, ToolDescription, ToolResult},
    models::ReasoningControl,
};

/// Fewest tokens that the API takes as the limit of an answer.
const SHORTEST_ANSWER: u32 = 16;

pub(super) fn body(request: ModelRequest<'_>) -> Value {
    let mut input = Vec::new();
    for message in request.messages {
        match message {
            ChatMessage::User { text } => input.push(user(text)),
            ChatMessage::Assistant(answer) => assistant(answer, &mut input),
            ChatMessage::Results { results } => input.extend(results.iter().map(result)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "instructions": request.system,
        "input": input,
        "stream": true,
        "store": false,
    });
    if !request.offers.is_empty() {
        body["tools"] = request.offers.iter().map(tool).collect();
    }
    // The API refuses this for models that do not reason. Summaries of the reasoning are not asked for: they need an
    // organisation that is verified.
    if request.reasoning == ReasoningControl::Effort || request.effort.is_some() {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(effort) = request.effort {
        body["reasoning"] = json!({"effort": effort.name()});
    }
    if let Some(most) = request.answer_tokens {
        body["max_output_tokens"] = most.max(SHORTEST_ANSWER).into();
    }
    body
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

/// The items of an answer. Its text comes before its calls, and each thought before the call that it led to.
fn assistant(answer: &ModelAnswer, input: &mut Vec<Value>) {
    let mut said = Some(&answer.text).filter(|text| !text.trim().is_empty());
    for at in 0..=answer.calls.len() {
        let call = answer.calls.get(at);
        // Reasoning that nothing follows would be refused.
        if call.is_some() || said.is_some() {
            input.extend(answer.thoughts.iter().filter_map(|thought| encrypted(thought, at)));
        }
        if let Some(text) = said.take() {
            let content = json!([{"type": "output_text", "text": text}]);
            input.push(json!({"type": "message", "role": "assistant", "content": content}));
        }
        input.extend(call.map(|call| {
            let arguments = arguments(call).to_string();
            json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
        }));
    }
}

/// A thought that came after `calls` calls, as an item.
fn encrypted(thought: &Reasoning, calls: usize) -> Option<Value> {
    let ReasoningProof::Encrypted { content, after } = &thought.proof else {
        return None;
    };
    let summary = Some(&thought.text).filter(|text| !text.is_empty());
    let summary: Vec<Value> = summary
        .map(|text| json!({"type": "summary_text", "text": text}))
        .into_iter()
        .collect();
    (*after == calls).then(|| json!({"type": "reasoning", "summary": summary, "encrypted_content": content}))
}

fn result(result: &ToolResult) -> Value {
    json!({"type": "function_call_output", "call_id": result.call, "output": result.text})
}

fn tool(offer: &ToolDescription) -> Value {
    json!({
        "type": "function", "name": offer.name, "description": offer.description, "parameters": offer.schema,
        "strict": false,
    })
}

pub(super) fn take(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) -> Result<(), ApiFailure> {
    let delta = event["delta"].as_str().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "error" => return Err(ApiFailure::from_event(event)),
        "response.failed" => return Err(ApiFailure::from_event(&event["response"])),
        "response.output_text.delta" | "response.refusal.delta" => reply.push_text(delta, pieces),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => reply.push_thought(delta, pieces),
        "response.output_item.added" => begin(event, reply),
        "response.function_call_arguments.delta" => {
            if let Some(call) = reply.call(number(event, "/output_index")) {
                push_arguments(call, delta);
            }
        }
        "response.output_item.done" => end(event, reply, pieces),
        "response.completed" | "response.incomplete" => {
            let response = &event["response"];
            count(&response["usage"], reply);
            reply.stop = Some(match response["incomplete_details"]["reason"].as_str() {
                Some("content_filter") => AnswerStop::Refused,
                Some(_) => AnswerStop::Length,
                None => AnswerStop::Done,
            });
            reply.is_over = true;
        }
        // Beginnings and ends of parts, and future events.
        _ => {}
    }
    Ok(())
}

fn count(usage: &Value, reply: &mut PartialReply) {
    reply.tokens.input = number(usage, "/input_tokens");
    reply.tokens.output = number(usage, "/output_tokens");
    reply.tokens.cache_read = number(usage, "/input_tokens_details/cached_tokens");
}

fn begin(event: &Value, reply: &mut PartialReply) {
    let item = &event["item"];
    match item["type"].as_str() {
        Some("function_call") => name_call(event, reply),
        Some("reasoning") => reply.answer.thoughts.push(Reasoning::default()),
        _ => {}
    }
}

/// Takes the id and the name of a call.
fn name_call(event: &Value, reply: &mut PartialReply) {
    let item = &event["item"];
    if let Some(call) = reply.call(number(event, "/output_index")) {
        item["call_id"].as_str().unwrap_or_default().clone_into(&mut call.id);
        item["name"].as_str().unwrap_or_default().clone_into(&mut call.name);
    }
}

/// Takes a whole item. Some servers send it in place of its pieces.
fn end(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) {
    let item = &event["item"];
    match item["type"].as_str() {
        Some("function_call") => {
            name_call(event, reply);
            if let Some(call) = reply.call(number(event, "/output_index"))
                && call.arguments.is_empty()
            {
                push_arguments(call, item["arguments"].as_str().unwrap_or_default());
            }
        }
        Some("reasoning") => {
            let content = item["encrypted_content"].as_str().unwrap_or_default().to_owned();
            let after = reply.answer.calls.len();
            if let Some(thought) = reply.answer.thoughts.last_mut().filter(|_| !content.is_empty()) {
                thought.proof = ReasoningProof::Encrypted { content, after };
            }
        }
        Some("message") if reply.answer.text.is_empty() => {
            for part in item["content"].as_array().into_iter().flatten() {
                reply.push_text(part["text"].as_str().unwrap_or_default(), pieces);
            }
        }
        _ => {}
    }
}
