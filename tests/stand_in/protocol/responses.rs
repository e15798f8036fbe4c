//! OpenAI Responses over server-sent events, as codex speaks it.

use serde_json::{Value, json};

use super::{ConversationTexts, ModelProtocol, id, list, text_of};
use crate::stand_in::{
    connection::{AnswerConnection, Halt},
    log::ModelRequest,
    scenario::{Flow, ModelAnswer},
    strict::ConversationPart,
    tools::{AgentToolCall, CallArguments},
};

pub struct Responses;

impl ModelProtocol for Responses {
    fn answers(&self, method: &str, path: &str) -> bool {
        method == "POST" && path.ends_with("/responses")
    }

    fn read(&self, body: &Value) -> ConversationTexts {
        let mut conversation = ConversationTexts::default();
        for tool in list(&body["tools"]) {
            // A built-in tool has no name, only a type.
            conversation
                .tools
                .extend(tool["name"].as_str().or(tool["type"].as_str()).map(str::to_owned));
        }
        for item in list(&body["input"]) {
            conversation.parts.extend(match item["type"].as_str() {
                Some("function_call" | "custom_tool_call") => Some(ConversationPart::Call(id(&item["call_id"]))),
                Some("function_call_output" | "custom_tool_call_output") => {
                    Some(ConversationPart::Result(id(&item["call_id"])))
                }
                Some("reasoning") => None,
                _ => Some(ConversationPart::Said),
            });
            match item["type"].as_str() {
                Some("message") if item["role"] == "user" => conversation.user_texts.push(text_of(&item["content"])),
                Some("function_call_output" | "custom_tool_call_output") => {
                    conversation.tool_results.push(text_of(&item["output"]));
                }
                _ => {}
            }
        }
        conversation
    }

    fn error_body(&self, status: u16) -> Value {
        super::openai_error(status)
    }

    fn stream(&self, request: &ModelRequest, answer: &ModelAnswer, out: &mut AnswerConnection) -> Result<(), Halt> {
        let mut events = ResponseEvents::start(request, out)?;
        if let Flow::Error { code, message } = &answer.flow {
            return events.fail(code, message);
        }
        if let Some(reasoning) = &answer.reasoning {
            events.reasoning(reasoning)?;
        }
        if answer.has_text() {
            events.message(answer)?;
        }
        for tool in &answer.tools {
            events.call(&tool.call(&request.tools))?;
        }
        events.complete(answer.is_cut_off)
    }

    fn whole(&self, _: &ModelRequest, _: &ModelAnswer) -> Option<Value> {
        None // codex streams everything
    }
}

/// A response being streamed: numbers its events and collects its items.
struct ResponseEvents<'a> {
    out: &'a mut AnswerConnection,
    /// Number of the request, which makes ids unique within a server.
    request: usize,
    /// Names of the offered tools that take free text.
    free: Vec<String>,
    /// Names of all offered tools.
    offered: Vec<String>,
    sequence: u32,
    response: Value,
    items: Vec<Value>,
}

impl<'a> ResponseEvents<'a> {
    fn start(request: &ModelRequest, out: &'a mut AnswerConnection) -> Result<ResponseEvents<'a>, Halt> {
        out.start_events()?;
        let response = json!({
            "id": format!("resp_{}", request.number), "object": "response", "created_at": 0, "status": "in_progress",
            "model": request.body["model"], "output": [],
        });
        let mut events = ResponseEvents {
            out,
            request: request.number,
            free: list(&request.body["tools"])
                .iter()
                .filter(|tool| tool["type"] == "custom")
                .map(|tool| id(&tool["name"]))
                .collect(),
            offered: request.tools.clone(),
            sequence: 0,
            response,
            items: Vec::new(),
        };
        events.send("response.created", json!({ "response": events.response }))?;
        Ok(events)
    }

    fn send(&mut self, name: &str, mut data: Value) -> Result<(), Halt> {
        data["type"] = name.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.out.event(name, &data)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}_{}", self.request, self.items.len())
    }

    fn add(&mut self, item: &Value) -> Result<(), Halt> {
        self.send(
            "response.output_item.added",
            json!({ "output_index": self.items.len(), "item": item }),
        )
    }

    fn done(&mut self, item: Value) -> Result<(), Halt> {
        self.send(
            "response.output_item.done",
            json!({ "output_index": self.items.len(), "item": item }),
        )?;
        self.items.push(item);
        Ok(())
    }

    fn reasoning(&mut self, text: &str) -> Result<(), Halt> {
        let id = self.id("rs");
        let place = json!({ "item_id": id, "output_index": self.items.len(), "summary_index": 0 });
        let with = |key: &str, value: Value| {
            let mut data = place.clone();
            data[key] = value;
            data
        };
        self.add(&json!({ "type": "reasoning", "id": id, "summary": [] }))?;
        let part = json!({ "type": "summary_text", "text": "" });
        self.send("response.reasoning_summary_part.added", with("part", part))?;
        self.send("response.reasoning_summary_text.delta", with("delta", text.into()))?;
        self.send("response.reasoning_summary_text.done", with("text", text.into()))?;
        self.done(json!({
            "type": "reasoning", "id": id, "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": "c3RhbmQtaW4=",
        }))
    }

    fn message(&mut self, answer: &ModelAnswer) -> Result<(), Halt> {
        let id = self.id("msg");
        let index = self.items.len();
        self.add(&json!({ "type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": [] }))?;
        let part = json!({ "type": "output_text", "text": "", "annotations": [] });
        let place = json!({ "item_id": id, "output_index": index, "content_index": 0, "part": part });
        self.send("response.content_part.added", place)?;
        let sequence = &mut self.sequence;
        self.out.pieces(answer, |out, piece| {
            let name = "response.output_text.delta";
            let data = json!({
                "type": name, "sequence_number": *sequence, "item_id": id, "output_index": index,
                "content_index": 0, "delta": piece,
            });
            *sequence += 1;
            out.event(name, &data)
        })?;
        let text = answer.text.as_deref().unwrap_or_default();
        let place = json!({ "item_id": id, "output_index": index, "content_index": 0, "text": text });
        self.send("response.output_text.done", place)?;
        self.done(json!({
            "type": "message", "id": id, "status": "completed", "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }))
    }

    fn call(&mut self, call: &AgentToolCall) -> Result<(), Halt> {
        let (kind, key, value) = match &call.arguments {
            CallArguments::Json(arguments) => ("function_call", "arguments", arguments.to_string()),
            CallArguments::Text(text) if self.free.contains(&call.name) => ("custom_tool_call", "input", text.clone()),
            CallArguments::Text(text) => ("function_call", "arguments", text.clone()),
        };
        let mut item = json!({
            "type": kind, "id": self.id("fc"), "call_id": self.id("call"), "name": call.name, "status": "completed",
        });
        // codex offers the tools of a MCP server in a namespace.
        let is_offered = self.offered.contains(&call.name);
        let of_server = call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let of_server = of_server.map(|(server, tool)| (format!("mcp__{server}"), tool));
        let of_codex = || call.name.split_once('/').map(|(name, tool)| (name.to_owned(), tool));
        if let Some((namespace, tool)) = of_server.or_else(of_codex).filter(|_| !is_offered) {
            item["namespace"] = namespace.into();
            item["name"] = tool.into();
        }
        item[key] = "".into();
        self.add(&item)?;
        item[key] = value.into();
        self.done(item)
    }

    fn fail(mut self, code: &str, message: &str) -> Result<(), Halt> {
        self.response["status"] = "failed".into();
        self.response["error"] = json!({ "code": code, "message": message });
        self.send("response.failed", json!({ "response": self.response }))?;
        self.out.finish_events()
    }

    fn complete(mut self, is_cut_off: bool) -> Result<(), Halt> {
        let status = if is_cut_off { "incomplete" } else { "completed" };
        self.response["status"] = status.into();
        if is_cut_off {
            self.response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        self.response["output"] = Value::Array(std::mem::take(&mut self.items));
        self.response["usage"] = json!({
            "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 100 },
            "output_tokens": 50, "output_tokens_details": { "reasoning_tokens": 10 }, "total_tokens": 1050,
        });
        self.send(&format!("response.{status}"), json!({ "response": self.response }))?;
        self.out.finish_events()
    }
}
