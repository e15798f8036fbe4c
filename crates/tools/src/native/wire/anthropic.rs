//! Anthropic's Messages API.
//!
//! Thoughts are sent back with the answer that follows them, with their signatures; the API refuses them without.

use serde_json::{Value, json};

use super::reply::{AnswerPiece, AnswerStop, PartialReply, arguments, number, push_arguments};
use crate::native::{
    failure::ApiFailure,
    message::{ChatMessage, ModelAnswer, ModelRequest, Reasoning, ToolDescription, ToolResult},
};

pub(super) fn body(request: ModelRequest<'_>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for message in request.messages {
        let (role, blocks) = match message {
            ChatMessage::User { text } => ("user", vec![json!({"type": "text", "text": text})]),
            ChatMessage::Assistant(answer) => ("assistant", assistant(answer)),
            ChatMessage::Results { results } => {
                let block = |result: &ToolResult| {
                    json!({
                        "type": "tool_result", "tool_use_id": result.call, "content": result.text, "is_error": !result.ok,
                    })
                };
                ("user", results.iter().map(block).collect())
            }
        };
        // The API accepts neither two consecutive messages of the same role nor an empty message.
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last["role"] == role => {
                if let Some(known) = last["content"].as_array_mut() {
                    known.extend(blocks);
                }
            }
            _ => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    let cache = json!({"type": "ephemeral"});
    // The prefix that was sent before is read from the cache, at a tenth of the price.
    if let Some(block) = messages
        .last_mut()
        .and_then(|message| message["content"].as_array_mut()?.last_mut())
    {
        block["cache_control"] = cache.clone();
    }
    json!({
        "model": request.model,
        "max_tokens": request.answer_tokens.unwrap_or_else(|| longest_answer(request.model)),
        "system": [{"type": "text", "text": request.system, "cache_control": cache}],
        "messages": messages,
        "tools": request.offers.iter().map(tool).collect::<Vec<_>>(),
        "stream": true,
    })
}

/// The default limit of an answer. The API refuses a limit above the model's maximum; an answer that reaches it is
/// continued.
fn longest_answer(model: &str) -> u32 {
    let older = [("claude-3-5", 8192), ("claude-3-7", 16_384), ("claude-3", 4096)];
    let known = older.iter().find(|(name, _)| model.contains(name));
    known.map_or(16_384, |(_, most)| *most)
}

fn assistant(answer: &ModelAnswer) -> Vec<Value> {
    let thought = |thought: &Reasoning| match &thought.redacted {
        Some(data) => Some(json!({"type": "redacted_thinking", "data": data})),
        None if thought.signature.is_empty() => None,
        None => Some(json!({"type": "thinking", "thinking": thought.text, "signature": thought.signature})),
    };
    let mut blocks: Vec<Value> = answer.thoughts.iter().filter_map(thought).collect();
    if !answer.text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": answer.text}));
    }
    blocks.extend(
        answer
            .calls
            .iter()
            .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)})),
    );
    blocks
}

fn tool(offer: &ToolDescription) -> Value {
    json!({"name": offer.name, "description": offer.description, "input_schema": offer.schema})
}

pub(super) fn take(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) -> Result<(), ApiFailure> {
    match event["type"].as_str().unwrap_or_default() {
        "error" => return Err(ApiFailure::from_event(event)),
        "message_start" => count(&event["message"]["usage"], reply),
        "content_block_start" => begin(event, reply, pieces),
        "content_block_delta" => grow(event, reply, pieces),
        "message_delta" => {
            count(&event["usage"], reply);
            match event["delta"]["stop_reason"].as_str() {
                None => {}
                Some("max_tokens" | "model_context_window_exceeded") => reply.stop = Some(AnswerStop::Length),
                Some("refusal") => reply.stop = Some(AnswerStop::Refused),
                Some(_) => reply.stop = Some(AnswerStop::Done),
            }
        }
        "message_stop" => reply.is_over = true,
        // `ping`, the end of a block, and future events.
        _ => {}
    }
    Ok(())
}

/// The API counts the cache separately from the rest of the input.
fn count(usage: &Value, reply: &mut PartialReply) {
    let tokens = &mut reply.tokens;
    if usage["input_tokens"].is_u64() {
        tokens.cache_read = number(usage, "/cache_read_input_tokens");
        tokens.cache_write = number(usage, "/cache_creation_input_tokens");
        let beside = tokens.cache_read.saturating_add(tokens.cache_write);
        tokens.input = number(usage, "/input_tokens").saturating_add(beside);
    }
    if usage["output_tokens"].is_u64() {
        tokens.output = number(usage, "/output_tokens");
    }
}

fn begin(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) {
    let block = &event["content_block"];
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => reply.push_text(text("text"), pieces),
        "thinking" => {
            reply.answer.thoughts.push(Reasoning::default());
            reply.push_thought(text("thinking"), pieces);
        }
        "redacted_thinking" => reply.answer.thoughts.push(Reasoning {
            redacted: Some(text("data").to_owned()),
            ..Reasoning::default()
        }),
        "tool_use" => {
            if let Some(call) = reply.call(number(event, "/index")) {
                text("id").clone_into(&mut call.id);
                text("name").clone_into(&mut call.name);
                // Some servers send the whole input here.
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    push_arguments(call, &block["input"].to_string());
                }
            }
        }
        _ => {}
    }
}

fn grow(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) {
    let delta = &event["delta"];
    let text = |key: &str| delta[key].as_str().unwrap_or_default();
    match text("type") {
        "text_delta" => reply.push_text(text("text"), pieces),
        "thinking_delta" => reply.push_thought(text("thinking"), pieces),
        "signature_delta" => {
            if let Some(thought) = reply.answer.thoughts.last_mut() {
                thought.signature.push_str(text("signature"));
            }
        }
        "input_json_delta" => {
            if let Some(call) = reply.call(number(event, "/index")) {
                push_arguments(call, text("partial_json"));
            }
        }
        _ => {}
    }
}
