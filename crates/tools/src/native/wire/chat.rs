//! OpenAI's Chat Completions API, as provided by OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and others.
//!
//! They share the format, but any of indices, ids, finish reasons and usage may be missing.

use serde_json::{Value, json};

use super::reply::{AnswerPiece, AnswerStop, PartialReply, arguments, number, push_arguments};
use crate::native::{
    failure::ApiFailure,
    message::{ChatMessage, ModelAnswer, ModelCall, ModelRequest, ReasoningProof, ToolDescription, ToolResult},
};

pub(super) fn body(request: ModelRequest<'_>) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    // Servers want the thoughts of the running turn back, and no older ones.
    let is_user = |message: &ChatMessage| matches!(message, ChatMessage::User { .. });
    let turn = request.messages.iter().rposition(is_user).unwrap_or(0);
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            ChatMessage::User { text } => messages.push(json!({"role": "user", "content": text})),
            // Some servers refuse an empty answer.
            ChatMessage::Assistant(answer) if answer.text.is_empty() && answer.calls.is_empty() => {}
            ChatMessage::Assistant(answer) => messages.push(assistant(answer, at > turn)),
            ChatMessage::Results { results } => {
                let text =
                    |result: &ToolResult| json!({"role": "tool", "tool_call_id": result.call, "content": result.text});
                messages.extend(results.iter().map(text));
            }
        }
    }
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !request.offers.is_empty() {
        body["tools"] = request.offers.iter().map(tool).collect();
    }
    if let Some(effort) = request.effort {
        body["reasoning_effort"] = effort.name().into();
    }
    if let Some(most) = request.answer_tokens {
        body["max_tokens"] = most.into();
    }
    body
}

fn assistant(answer: &ModelAnswer, with_thoughts: bool) -> Value {
    let content = Some(&answer.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": content});
    if !answer.calls.is_empty() {
        let call = |call: &ModelCall| {
            let function = json!({"name": call.name, "arguments": arguments(call).to_string()});
            json!({"id": call.id, "type": "function", "function": function})
        };
        message["tool_calls"] = answer.calls.iter().map(call).collect();
    }
    for thought in answer.thoughts.iter().filter(|_| with_thoughts) {
        if let ReasoningProof::Field(name) = &thought.proof {
            message[name] = thought.text.as_str().into();
        }
    }
    message
}

fn tool(offer: &ToolDescription) -> Value {
    let function = json!({"name": offer.name, "description": offer.description, "parameters": offer.schema});
    json!({"type": "function", "function": function})
}

pub(super) fn take(event: &Value, reply: &mut PartialReply, pieces: &mut Vec<AnswerPiece>) -> Result<(), ApiFailure> {
    if event.get("error").is_some_and(|error| !error.is_null()) {
        return Err(ApiFailure::from_event(event));
    }
    if event["usage"].is_object() {
        reply.tokens.input = number(event, "/usage/prompt_tokens");
        reply.tokens.output = number(event, "/usage/completion_tokens");
        reply.tokens.cache_read = number(event, "/usage/prompt_tokens_details/cached_tokens");
    }
    let choice = &event["choices"][0];
    let delta = &choice["delta"];
    for key in ["reasoning_content", "reasoning"] {
        if let Some(thought) = delta[key].as_str() {
            reply.push_thought(thought, pieces);
            if let Some(thought) = reply.answer.thoughts.last_mut() {
                thought.proof = ReasoningProof::Field(key.to_owned());
            }
            break;
        }
    }
    reply.push_text(delta["content"].as_str().unwrap_or_default(), pieces);
    for piece in delta["tool_calls"].as_array().into_iter().flatten() {
        take_call(piece, reply);
    }
    match choice["finish_reason"].as_str() {
        None | Some("") => {}
        Some("length") => reply.stop = Some(AnswerStop::Length),
        Some("content_filter") => reply.stop = Some(AnswerStop::Refused),
        Some(_) => reply.stop = Some(AnswerStop::Done),
    }
    Ok(())
}

fn take_call(piece: &Value, reply: &mut PartialReply) {
    let id = piece["id"].as_str().filter(|id| !id.is_empty());
    // Without an index, a new id begins another call, and a piece without an id continues the last one.
    let last = reply.numbers.last().copied();
    let number = piece["index"].as_u64().unwrap_or_else(|| match (id, last) {
        (None, Some(last)) => last,
        (Some(id), Some(last)) if reply.answer.calls.last().is_some_and(|call| call.id == id) => last,
        (_, last) => last.map_or(0, |last| last + 1),
    });
    let Some(call) = reply.call(number) else { return };
    if let Some(id) = id {
        id.clone_into(&mut call.id);
    }
    if call.name.is_empty() {
        call.name
            .push_str(piece["function"]["name"].as_str().unwrap_or_default());
    }
    match &piece["function"]["arguments"] {
        Value::String(text) => push_arguments(call, text),
        Value::Null => {}
        // A complete object instead of text.
        other => push_arguments(call, &other.to_string()),
    }
}
