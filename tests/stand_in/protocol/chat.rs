//! OpenAI Chat Completions, streamed and whole, as opencode speaks it.

use serde_json::{Value, json};

use super::{ConversationTexts, ModelProtocol, id, list, text_of, texts_of};
use crate::stand_in::{
    connection::{AnswerConnection, Halt},
    log::ModelRequest,
    scenario::{Flow, ModelAnswer},
    strict::ConversationPart,
    tools::{AgentToolCall, CallArguments},
};

pub struct Chat;

impl ModelProtocol for Chat {
    fn answers(&self, method: &str, path: &str) -> bool {
        method == "POST" && path.ends_with("/chat/completions")
    }

    fn read(&self, body: &Value) -> ConversationTexts {
        let mut conversation = ConversationTexts::default();
        for tool in list(&body["tools"]) {
            conversation
                .tools
                .extend(tool["function"]["name"].as_str().map(str::to_owned));
        }
        for message in list(&body["messages"]) {
            match message["role"].as_str() {
                Some("tool") => conversation
                    .parts
                    .push(ConversationPart::Result(id(&message["tool_call_id"]))),
                _ => conversation.parts.push(ConversationPart::Said),
            }
            let calls = list(&message["tool_calls"]).iter();
            conversation
                .parts
                .extend(calls.map(|call| ConversationPart::Call(id(&call["id"]))));
            match message["role"].as_str() {
                Some("user") => conversation.user_texts.extend(texts_of(&message["content"])),
                Some("tool") => conversation.tool_results.push(text_of(&message["content"])),
                _ => {}
            }
        }
        conversation
    }

    fn error_body(&self, status: u16) -> Value {
        super::openai_error(status)
    }

    fn stream(&self, request: &ModelRequest, answer: &ModelAnswer, out: &mut AnswerConnection) -> Result<(), Halt> {
        out.start_events()?;
        let delta = |delta: Value, finish: Value| {
            chunk(
                request,
                json!([{ "index": 0, "delta": delta, "finish_reason": finish }]),
            )
        };
        if let Flow::Error { code, message } = &answer.flow {
            out.data(&json!({ "error": { "message": message, "type": "server_error", "code": code } }))?;
            return out.finish_events();
        }
        out.data(&delta(json!({ "role": "assistant", "content": "" }), Value::Null))?;
        if let Some(reasoning) = &answer.reasoning {
            out.data(&delta(json!({ "reasoning_content": reasoning }), Value::Null))?;
        }
        if answer.has_text() {
            out.pieces(answer, |out, piece| {
                out.data(&delta(json!({ "content": piece }), Value::Null))
            })?;
        }
        for (index, mut call) in calls(request, answer).into_iter().enumerate() {
            // The function's name comes first, then its arguments: agents join the pieces by index.
            call["index"] = index.into();
            let arguments = call["function"]["arguments"].take();
            call["function"]["arguments"] = "".into();
            out.data(&delta(json!({ "tool_calls": [call] }), Value::Null))?;
            let call = json!({ "index": index, "function": { "arguments": arguments } });
            out.data(&delta(json!({ "tool_calls": [call] }), Value::Null))?;
        }
        out.data(&delta(json!({}), finish_reason(answer).into()))?;
        let mut last = chunk(request, json!([]));
        last["usage"] = usage();
        out.data(&last)?;
        out.raw_data("[DONE]")?;
        out.finish_events()
    }

    fn whole(&self, request: &ModelRequest, answer: &ModelAnswer) -> Option<Value> {
        if request.body["stream"] == true {
            return None;
        }
        let mut message = json!({ "role": "assistant", "content": answer.text });
        if !answer.tools.is_empty() {
            message["tool_calls"] = calls(request, answer).into();
        }
        let mut whole = chunk(
            request,
            json!([{ "index": 0, "message": message, "finish_reason": finish_reason(answer) }]),
        );
        whole["object"] = "chat.completion".into();
        whole["usage"] = usage();
        Some(whole)
    }
}

fn chunk(request: &ModelRequest, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", request.number), "object": "chat.completion.chunk", "created": 0,
        "model": request.body["model"], "choices": choices,
    })
}

fn calls(request: &ModelRequest, answer: &ModelAnswer) -> Vec<Value> {
    let calls = answer.tools.iter().enumerate().map(|(index, tool)| {
        let AgentToolCall { name, arguments } = tool.call(&request.tools);
        let arguments = match arguments {
            CallArguments::Json(arguments) => arguments.to_string(),
            CallArguments::Text(text) => text,
        };
        json!({
            "id": format!("call_{}_{index}", request.number), "type": "function",
            "function": { "name": name, "arguments": arguments },
        })
    });
    calls.collect()
}

fn finish_reason(answer: &ModelAnswer) -> &'static str {
    match answer.tools.is_empty() {
        _ if answer.is_cut_off => "length",
        true => "stop",
        false => "tool_calls",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": { "cached_tokens": 100 }, "completion_tokens_details": { "reasoning_tokens": 10 },
    })
}
