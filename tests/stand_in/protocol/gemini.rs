//! Gemini's `generateContent`, streamed and whole, as gemini speaks it.

use serde_json::{Value, json};

use super::{ConversationTexts, ModelProtocol, list};
use crate::stand_in::{
    connection::{AnswerConnection, Halt},
    log::ModelRequest,
    scenario::{Flow, ModelAnswer},
    tools::CallArguments,
};

pub struct Gemini;

impl ModelProtocol for Gemini {
    fn answers(&self, method: &str, path: &str) -> bool {
        method == "POST" && (path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent"))
    }

    fn read(&self, body: &Value) -> ConversationTexts {
        let mut conversation = ConversationTexts::default();
        for tool in list(&body["tools"]) {
            let names = list(&tool["functionDeclarations"])
                .iter()
                .filter_map(|function| function["name"].as_str());
            conversation.tools.extend(names.map(str::to_owned));
        }
        for content in list(&body["contents"]) {
            if content["role"] == "model" {
                continue;
            }
            for part in list(&content["parts"]) {
                conversation.user_texts.extend(part["text"].as_str().map(str::to_owned));
                if let Some(response) = part.get("functionResponse") {
                    conversation.tool_results.push(result_of(&response["response"]));
                }
            }
        }
        conversation
    }

    fn error_body(&self, status: u16) -> Value {
        let (name, message) = match status {
            401 => ("UNAUTHENTICATED", "API key not valid (stand-in)"),
            403 => ("PERMISSION_DENIED", "not allowed (stand-in)"),
            404 => ("NOT_FOUND", "model not found (stand-in)"),
            429 => ("RESOURCE_EXHAUSTED", "rate limit reached (stand-in)"),
            400..=499 => ("INVALID_ARGUMENT", "request refused (stand-in)"),
            503 => ("UNAVAILABLE", "overloaded (stand-in)"),
            _ => ("INTERNAL", "server error (stand-in)"),
        };
        json!({ "error": { "code": status, "message": message, "status": name, "details": [] } })
    }

    fn failed(&self) -> u16 {
        503
    }

    fn stream(&self, request: &ModelRequest, answer: &ModelAnswer, out: &mut AnswerConnection) -> Result<(), Halt> {
        out.start_events()?;
        if let Flow::Error { code, message } = &answer.flow {
            out.data(&json!({ "error": { "code": 503, "message": message, "status": code } }))?;
            return out.finish_events();
        }
        if let Some(reasoning) = &answer.reasoning {
            let thought = json!({ "text": reasoning, "thought": true });
            out.data(&response(request, json!([thought]), Value::Null))?;
        }
        if answer.has_text() {
            out.pieces(answer, |out, piece| {
                out.data(&response(request, json!([{ "text": piece }]), Value::Null))
            })?;
        }
        if !answer.tools.is_empty() {
            out.data(&response(request, calls(request, answer).into(), Value::Null))?;
        }
        out.data(&response(request, json!([{ "text": "" }]), "STOP".into()))?;
        out.finish_events()
    }

    fn whole(&self, request: &ModelRequest, answer: &ModelAnswer) -> Option<Value> {
        if request.path.ends_with(":streamGenerateContent") {
            return None;
        }
        let mut parts = calls(request, answer);
        if let Some(text) = &answer.text {
            parts.insert(0, json!({ "text": text }));
        }
        Some(response(request, parts.into(), "STOP".into()))
    }
}

fn response(request: &ModelRequest, parts: Value, finish: Value) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if !finish.is_null() {
        candidate["finishReason"] = finish;
    }
    json!({
        "candidates": [candidate], "responseId": format!("response-{}", request.number),
        "modelVersion": model(&request.path),
        "usageMetadata": {
            "promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050,
            "cachedContentTokenCount": 100, "thoughtsTokenCount": 10,
        },
    })
}

fn calls(request: &ModelRequest, answer: &ModelAnswer) -> Vec<Value> {
    let calls = answer.tools.iter().enumerate().map(|(index, tool)| {
        let call = tool.call(&request.tools);
        let arguments = match call.arguments {
            CallArguments::Json(arguments) => arguments,
            CallArguments::Text(text) => json!({ "input": text }),
        };
        let id = format!("call-{}-{index}", request.number);
        let mut part = json!({ "functionCall": { "id": id, "name": call.name, "args": arguments } });
        // The first call of an answer carries a signature, and agents send it back.
        if index == 0 {
            part["thoughtSignature"] = "c3RhbmQtaW4=".into();
        }
        part
    });
    calls.collect()
}

/// `…/models/NAME:streamGenerateContent` → `NAME`.
fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split(':').next().unwrap_or(name)
}

fn result_of(response: &Value) -> String {
    let output = response["output"].as_str().or(response["error"].as_str());
    output.map_or_else(|| response.to_string(), str::to_owned)
}
