//! Anthropic Messages, streamed and whole, as claude speaks it.

use serde_json::{Value, json};

use super::{ConversationTexts, ModelProtocol, id, list, text_of};
use crate::stand_in::{
    connection::{AnswerConnection, Halt},
    log::ModelRequest,
    scenario::{Flow, ModelAnswer},
    strict::ConversationPart,
    tools::{AgentToolCall, CallArguments},
};

pub struct Anthropic;

impl ModelProtocol for Anthropic {
    fn answers(&self, method: &str, path: &str) -> bool {
        method == "POST" && path.ends_with("/messages")
    }

    fn read(&self, body: &Value) -> ConversationTexts {
        let mut conversation = ConversationTexts::default();
        for tool in list(&body["tools"]) {
            conversation.tools.extend(tool["name"].as_str().map(str::to_owned));
        }
        for message in list(&body["messages"]) {
            let blocks = list(&message["content"]).iter();
            conversation
                .parts
                .extend(blocks.map(|block| match block["type"].as_str() {
                    Some("tool_use") => ConversationPart::Call(id(&block["id"])),
                    Some("tool_result") => ConversationPart::Result(id(&block["tool_use_id"])),
                    _ => ConversationPart::Said,
                }));
            if message["role"] != "user" {
                continue;
            }
            conversation
                .user_texts
                .extend(message["content"].as_str().map(str::to_owned));
            for block in list(&message["content"]) {
                match block["type"].as_str() {
                    Some("text") => conversation.user_texts.push(text_of(&block["text"])),
                    Some("tool_result") => conversation.tool_results.push(text_of(&block["content"])),
                    _ => {}
                }
            }
        }
        conversation
    }

    fn error_body(&self, status: u16) -> Value {
        let (kind, message) = match status {
            401 => ("authentication_error", "invalid x-api-key (stand-in)"),
            403 => ("permission_error", "not allowed (stand-in)"),
            404 => ("not_found_error", "model not found (stand-in)"),
            429 => ("rate_limit_error", "rate limit reached (stand-in)"),
            400..=499 => ("invalid_request_error", "request refused (stand-in)"),
            529 => ("overloaded_error", "overloaded (stand-in)"),
            _ => ("api_error", "server error (stand-in)"),
        };
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    }

    fn failed(&self) -> u16 {
        529
    }

    fn stream(&self, request: &ModelRequest, answer: &ModelAnswer, out: &mut AnswerConnection) -> Result<(), Halt> {
        out.start_events()?;
        let message = message(request, Vec::new(), Value::Null, 1);
        send(out, "message_start", json!({ "message": message }))?;
        if let Flow::Error { code, message } = &answer.flow {
            send(out, "error", json!({ "error": { "type": code, "message": message } }))?;
            return out.finish_events();
        }
        let mut blocks = ContentBlocks { out, index: 0 };
        if let Some(reasoning) = &answer.reasoning {
            let delta = json!({ "type": "thinking_delta", "thinking": reasoning });
            let signature = json!({ "type": "signature_delta", "signature": SIGNATURE });
            let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
            blocks.block(&start, &[delta, signature])?;
        }
        if answer.has_text() {
            blocks.text(answer)?;
        }
        for (index, tool) in answer.tools.iter().enumerate() {
            let call = tool.call(&request.tools);
            let (id, input) = (call_id(request, index), input(&call));
            let start = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
            let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
            blocks.block(&start, &[delta])?;
        }
        let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
        send(
            out,
            "message_delta",
            json!({ "delta": delta, "usage": { "output_tokens": 50 } }),
        )?;
        send(out, "message_stop", json!({}))?;
        out.finish_events()
    }

    fn whole(&self, request: &ModelRequest, answer: &ModelAnswer) -> Option<Value> {
        if request.body["stream"] == true {
            return None;
        }
        let mut content = Vec::new();
        if let Some(reasoning) = &answer.reasoning {
            content.push(json!({ "type": "thinking", "thinking": reasoning, "signature": SIGNATURE }));
        }
        if let Some(text) = &answer.text {
            content.push(json!({ "type": "text", "text": text }));
        }
        for (index, tool) in answer.tools.iter().enumerate() {
            let call = tool.call(&request.tools);
            let (id, input) = (call_id(request, index), input(&call));
            content.push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": input }));
        }
        Some(message(request, content, stop_reason(answer).into(), 50))
    }
}

/// A dummy signature: only the vendor checks it.
const SIGNATURE: &str = "c3RhbmQtaW4=";

/// The content blocks of a message being streamed.
struct ContentBlocks<'a> {
    out: &'a mut AnswerConnection,
    index: usize,
}

impl ContentBlocks<'_> {
    fn block(&mut self, start: &Value, deltas: &[Value]) -> Result<(), Halt> {
        let index = self.index;
        self.start(start)?;
        for delta in deltas {
            send(
                self.out,
                "content_block_delta",
                json!({ "index": index, "delta": delta }),
            )?;
        }
        self.stop()
    }

    fn text(&mut self, answer: &ModelAnswer) -> Result<(), Halt> {
        let index = self.index;
        self.start(&json!({ "type": "text", "text": "" }))?;
        self.out.pieces(answer, |out, piece| {
            let delta = json!({ "type": "text_delta", "text": piece });
            send(out, "content_block_delta", json!({ "index": index, "delta": delta }))
        })?;
        self.stop()
    }

    fn start(&mut self, block: &Value) -> Result<(), Halt> {
        let data = json!({ "index": self.index, "content_block": block });
        send(self.out, "content_block_start", data)
    }

    fn stop(&mut self) -> Result<(), Halt> {
        send(self.out, "content_block_stop", json!({ "index": self.index }))?;
        self.index += 1;
        Ok(())
    }
}

fn send(out: &mut AnswerConnection, name: &str, mut data: Value) -> Result<(), Halt> {
    data["type"] = name.into();
    out.event(name, &data)
}

fn message(request: &ModelRequest, content: Vec<Value>, stop_reason: Value, output_tokens: u32) -> Value {
    json!({
        "id": format!("msg_{}", request.number), "type": "message", "role": "assistant",
        "model": request.body["model"], "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 1000, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100,
            "output_tokens": output_tokens, "service_tier": "standard",
        },
    })
}

fn stop_reason(answer: &ModelAnswer) -> &'static str {
    match answer.tools.is_empty() {
        _ if answer.is_cut_off => "max_tokens",
        true => "end_turn",
        false => "tool_use",
    }
}

fn call_id(request: &ModelRequest, index: usize) -> String {
    format!("toolu_{}_{index}", request.number)
}

/// The arguments as an object, since this API accepts nothing else.
fn input(call: &AgentToolCall) -> Value {
    match &call.arguments {
        CallArguments::Json(arguments) => arguments.clone(),
        CallArguments::Text(text) => json!({ "input": text }),
    }
}
