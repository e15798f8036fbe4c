//! Anthropic's Messages API.
//!
//! Thoughts are sent back with the answer that follows them, with their signatures; the API refuses them without.

use serde_json::{Value, json};

use super::reply::{AnswerPiece, AnswerStop, PartialReply, arguments, number, push_arguments};
use crate::native::{
    failure::ApiFailure,
    message::{ChatMessage, ModelAnswer, ModelRequest, Reasoning, ReasoningProof, ToolDescription, ToolResult},
    models::{Effort, ReasoningControl},
};

/// The default limit of an answer, which the API requires. An answer that reaches it is continued.
pub(in crate::native) const USUAL_ANSWER: u32 = 16_384;
/// Fewest tokens of thoughts that the API takes.
const FEWEST_THOUGHTS: u32 = 1024;

pub(super) fn body(request: ModelRequest<'_>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for message in request.messages {
        let (role, blocks) = match message {
            ChatMessage::User { text } => ("user", vec![json!({"type": "text", "text": text})]),
            ChatMessage::Assistant(answer) => ("assistant", assistant(answer)),
            ChatMessage::Results { results } => ("user", results.iter().map(result).collect()),
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
    mark_for_cache(&mut messages);
    let most = request.answer_tokens.unwrap_or(USUAL_ANSWER);
    let mut body = json!({
        "model": request.model,
        "max_tokens": most,
        "system": [cached(json!({"type": "text", "text": request.system}))],
        "messages": messages,
        "stream": true,
    });
    if let Some((last, others)) = request.offers.split_last() {
        body["tools"] = others.iter().map(tool).chain([cached(tool(last))]).collect();
    }
    if let Some(effort) = request.effort {
        reason(&mut body, request.reasoning, effort, most);
    }
    body
}

/// Marks the ends of the two latest messages of the user. What was sent up to a mark is read from the cache, at a tenth of
/// the price: the last mark is for the next request, and the one before is where the last request ended.
fn mark_for_cache(messages: &mut [Value]) {
    let of_user = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in of_user.take(2) {
        let last = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut());
        if let Some(block) = last {
            *block = cached(block.take());
        }
    }
}

fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

/// Asks for as much reasoning as `effort`, in the form that the model takes.
fn reason(body: &mut Value, control: ReasoningControl, effort: Effort, most: u32) {
    match control {
        ReasoningControl::Adaptive => {
            body["thinking"] = json!({"type": "adaptive"});
            body["output_config"] = json!({"effort": effort.name()});
        }
        // Thoughts are part of the answer, which has to have room for more than them.
        ReasoningControl::Tokens if most >= 2 * FEWEST_THOUGHTS => {
            let tokens = effort.tokens().min(most / 2);
            body["thinking"] = json!({"type": "enabled", "budget_tokens": tokens});
        }
        ReasoningControl::Tokens | ReasoningControl::Effort | ReasoningControl::Unknown => {}
    }
}

fn result(result: &ToolResult) -> Value {
    json!({"type": "tool_result", "tool_use_id": result.call, "content": result.text, "is_error": !result.ok})
}

fn assistant(answer: &ModelAnswer) -> Vec<Value> {
    let thought = |thought: &Reasoning| match &thought.proof {
        ReasoningProof::Redacted(data) => Some(json!({"type": "redacted_thinking", "data": data})),
        ReasoningProof::Signature(signature) => {
            Some(json!({"type": "thinking", "thinking": thought.text, "signature": signature}))
        }
        // The API refuses what it has not signed.
        ReasoningProof::Unsigned | ReasoningProof::Field(_) | ReasoningProof::Encrypted { .. } => None,
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
            text: String::new(),
            proof: ReasoningProof::Redacted(text("data").to_owned()),
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
                match &mut thought.proof {
                    ReasoningProof::Signature(signature) => signature.push_str(text("signature")),
                    proof => *proof = ReasoningProof::Signature(text("signature").to_owned()),
                }
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
