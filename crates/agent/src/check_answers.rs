//! Answers of a check's model: one text, in the format of each API that agents speak. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// The text that the model answers.
pub(super) const ANSWER: &str = "The check works.";

/// The body of an answer, with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StandInAnswer {
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

/// Server-sent events.
#[derive(Default)]
struct EventStream(String);

impl EventStream {
    fn data(mut self, data: &Value) -> Self {
        write!(self.0, "data: {data}\n\n").expect("a string takes every write");
        self
    }

    /// Adds an event whose name is also its type.
    fn event(mut self, name: &str, mut data: Value) -> Self {
        data["type"] = name.into();
        write!(self.0, "event: {name}\ndata: {data}\n\n").expect("a string takes every write");
        self
    }

    fn answer(self) -> StandInAnswer {
        StandInAnswer {
            content_type: "text/event-stream",
            body: self.0,
        }
    }
}

fn whole(body: &Value) -> StandInAnswer {
    StandInAnswer {
        content_type: "application/json",
        body: body.to_string(),
    }
}

/// Answers a request to `path`, without its query; `None` if no API has it.
pub(super) fn answer(method: &str, path: &str, body: &Value) -> Option<StandInAnswer> {
    let streams = body["stream"] == true;
    match method {
        "GET" if path.ends_with("/models") => Some(whole(&json!({
            "object": "list", "data": [{ "id": "stand-in", "object": "model", "created": 0, "owned_by": "ralph" }],
        }))),
        "POST" if path.ends_with("/chat/completions") => Some(chat(body, streams)),
        "POST" if path.ends_with("/responses") => Some(responses(body)),
        "POST" if path.ends_with("/messages/count_tokens") => Some(whole(&json!({ "input_tokens": 10 }))),
        "POST" if path.ends_with("/messages") => Some(messages(body, streams)),
        "POST" if path.ends_with(":streamGenerateContent") => Some(EventStream::default().data(&generated()).answer()),
        "POST" if path.ends_with(":generateContent") => Some(whole(&generated())),
        "POST" if path.ends_with(":countTokens") => Some(whole(&json!({ "totalTokens": 10 }))),
        _ => None,
    }
}

/// OpenAI's chat completions.
fn chat(body: &Value, streams: bool) -> StandInAnswer {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let chunk = |object: &str, choices: Value| json!({ "id": "check", "object": object, "created": 0, "model": body["model"], "choices": choices });
    if !streams {
        let message = json!({ "role": "assistant", "content": ANSWER });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        let mut completion = chunk("chat.completion", json!([choice]));
        completion["usage"] = usage;
        return whole(&completion);
    }
    let delta = |delta: Value, end: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        chunk("chat.completion.chunk", json!([choice]))
    };
    let mut last = chunk("chat.completion.chunk", json!([]));
    last["usage"] = usage;
    let mut stream = EventStream::default()
        .data(&delta(json!({ "role": "assistant", "content": "" }), Value::Null))
        .data(&delta(json!({ "content": ANSWER }), Value::Null))
        .data(&delta(json!({}), "stop".into()))
        .data(&last);
    stream.0 += "data: [DONE]\n\n";
    stream.answer()
}

/// OpenAI's responses, which are always streamed.
fn responses(body: &Value) -> StandInAnswer {
    let response = |status: &str, output: Value| {
        json!({
            "id": "resp_check", "object": "response", "created_at": 0, "status": status, "model": body["model"],
            "output": output,
            "usage": { "input_tokens": 10, "output_tokens": 5, "total_tokens": 15 },
        })
    };
    let item = |status: &str, content: Value| json!({ "type": "message", "id": "msg_check", "status": status, "role": "assistant", "content": content });
    let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
    let place = json!({ "item_id": "msg_check", "output_index": 0, "content_index": 0 });
    let with = |key: &str, value: Value| {
        let mut data = place.clone();
        data[key] = value;
        data
    };
    let done = item("completed", json!([part(ANSWER)]));
    EventStream::default()
        .event(
            "response.created",
            json!({ "response": response("in_progress", json!([])) }),
        )
        .event(
            "response.output_item.added",
            json!({ "output_index": 0, "item": item("in_progress", json!([])) }),
        )
        .event("response.content_part.added", with("part", part("")))
        .event("response.output_text.delta", with("delta", ANSWER.into()))
        .event("response.output_text.done", with("text", ANSWER.into()))
        .event("response.output_item.done", json!({ "output_index": 0, "item": done }))
        .event(
            "response.completed",
            json!({ "response": response("completed", json!([done])) }),
        )
        .answer()
}

/// Anthropic's messages.
fn messages(body: &Value, streams: bool) -> StandInAnswer {
    let message = |content: Value, reason: Value| {
        json!({
            "id": "msg_check", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 5 },
        })
    };
    if !streams {
        return whole(&message(json!([{ "type": "text", "text": ANSWER }]), "end_turn".into()));
    }
    let end = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    EventStream::default()
        .event("message_start", json!({ "message": message(json!([]), Value::Null) }))
        .event(
            "content_block_start",
            json!({ "index": 0, "content_block": { "type": "text", "text": "" } }),
        )
        .event(
            "content_block_delta",
            json!({ "index": 0, "delta": { "type": "text_delta", "text": ANSWER } }),
        )
        .event("content_block_stop", json!({ "index": 0 }))
        .event(
            "message_delta",
            json!({ "delta": end, "usage": { "output_tokens": 5 } }),
        )
        .event("message_stop", json!({}))
        .answer()
}

/// Google's generated content.
fn generated() -> Value {
    let content = json!({ "role": "model", "parts": [{ "text": ANSWER }] });
    json!({
        "candidates": [{ "content": content, "index": 0, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_answers_with_the_text_streamed_or_whole() {
        for path in [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/messages",
            "/v1beta/models/m:streamGenerateContent",
            "/v1beta/models/m:generateContent",
        ] {
            for stream in [true, false] {
                let body = json!({ "model": "m", "stream": stream });
                let answer = answer("POST", path, &body).expect(path);
                assert!(answer.body.contains(ANSWER), "{path}: {}", answer.body);
                let events = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
                for event in events.filter(|event| *event != "[DONE]") {
                    serde_json::from_str::<Value>(event).unwrap_or_else(|error| panic!("{event}: {error}"));
                }
            }
        }
        assert_eq!(answer("GET", "/v1/chat/completions", &Value::Null), None);
    }
}
