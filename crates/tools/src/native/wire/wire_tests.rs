use serde_json::json;

use super::*;
use crate::native::{
    failure::FailureClass,
    message::{ChatMessage, ModelAnswer, ModelCall, Reasoning, ReasoningProof, ToolDescription, ToolResult},
    models::{Effort, ReasoningControl},
};

const CHAT: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"reasoning_content":"Look fürst."}}]}

data: {"choices":[{"index":0,"delta":{"content":"I "}}]}

data: {"choices":[{"index":0,"delta":{"content":"look."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"shell","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"read","arguments":"{}"}},{"index":0,"function":{"arguments":"and\":\"ls\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":100}}}

data: [DONE]

"#;

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":880,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look fürst."}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

data: {"type":"ping"}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"shell","input":{}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"read","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":50}}

data: {"type":"message_stop"}

"#;

const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Look fürst."}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look fürst."}],"encrypted_content":"c2ln"}}

data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}

data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"I look."}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}}

data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"shell","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\":"}

data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"ls\"}"}

data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"command\":\"ls\"}"}}

data: {"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","call_id":"c2","name":"read","arguments":"{}"}}

data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":100},"output_tokens":50}}}

"#;

fn call(id: &str, name: &str, arguments: &str) -> ModelCall {
    ModelCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

/// Feeds `stream` in two pieces; returns the whole answer, its text and its thoughts as they arrived.
fn decoded(wire: Wire, stream: &str, cut: usize) -> (ModelReply, String, String) {
    let (mut decoder, mut text, mut thought) = (wire.decoder(), String::new(), String::new());
    for part in [&stream.as_bytes()[..cut], &stream.as_bytes()[cut..]] {
        for piece in decoder.feed(part).unwrap() {
            match piece {
                AnswerPiece::Text(piece) => text.push_str(&piece),
                AnswerPiece::Thought(piece) => thought.push_str(&piece),
            }
        }
    }
    assert!(decoder.is_over());
    (decoder.end().unwrap(), text, thought)
}

#[test]
fn an_answer_is_the_same_wherever_its_stream_is_cut() {
    let signature = ReasoningProof::Signature("c2ln".to_owned());
    let encrypted = ReasoningProof::Encrypted {
        content: "c2ln".to_owned(),
        after: 0,
    };
    let field = ReasoningProof::Field("reasoning_content".to_owned());
    for (wire, stream, proof, second) in [
        (Wire::Chat, CHAT, field, "{}"),
        (Wire::Responses, RESPONSES, encrypted, "{}"),
        (Wire::Anthropic, ANTHROPIC, signature, ""),
    ] {
        for cut in 0..=stream.len() {
            let (reply, text, thought) = decoded(wire, stream, cut);
            assert_eq!(
                (text.as_str(), thought.as_str()),
                ("I look.", "Look fürst."),
                "cut at {cut}"
            );
            assert_eq!(reply.stop, AnswerStop::Done);
            assert_eq!(
                reply.answer.calls,
                [call("c1", "shell", r#"{"command":"ls"}"#), call("c2", "read", second)],
                "cut at {cut}"
            );
            assert_eq!(reply.answer.thoughts[0].proof, proof);
            assert_eq!(
                (reply.tokens.input, reply.tokens.cache_read, reply.tokens.output),
                (1000, 100, 50)
            );
        }
    }
}

#[test]
fn a_stream_that_ends_anywhere_before_its_end_is_broken_or_whole_and_nothing_between() {
    for (wire, stream, last) in [
        (Wire::Chat, CHAT, "\"finish_reason\":\"tool_calls\""),
        (Wire::Responses, RESPONSES, "\"output_tokens\":50"),
        (Wire::Anthropic, ANTHROPIC, "\"stop_reason\":\"tool_use\""),
    ] {
        let said = stream.find(last).unwrap() + last.len();
        for end in 0..=stream.len() {
            let mut decoder = wire.decoder();
            let fed = decoder.feed(&stream.as_bytes()[..end]);
            let reply = fed.and_then(|_| decoder.end());
            match reply {
                Ok(reply) => assert!(end > said && reply.answer.calls.len() == 2, "{wire:?} cut at {end}"),
                Err(failure) => assert_eq!(failure.class, FailureClass::Network, "{wire:?} cut at {end}"),
            }
        }
    }
}

#[test]
fn servers_that_leave_things_out_are_understood() {
    let decode = |lines: &[serde_json::Value]| {
        let mut decoder = Wire::Chat.decoder();
        for line in lines {
            decoder.feed(format!("data: {line}\n\n").as_bytes()).unwrap();
        }
        decoder.feed(b"data: [DONE]\n\n").unwrap();
        decoder.end().unwrap()
    };
    let calls = |calls: serde_json::Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    // No indices, no finish reason, and arguments as an object.
    let reply = decode(&[
        calls(json!([{"id": "a", "function": {"name": "read", "arguments": {"path": "x"}}}])),
        calls(json!([{"id": "b", "function": {"name": "shell", "arguments": "{\"command\":"}}])),
        calls(json!([{"function": {"arguments": "\"ls\"}"}}])),
    ]);
    assert_eq!(
        reply.answer.calls,
        [
            call("a", "read", r#"{"path":"x"}"#),
            call("b", "shell", r#"{"command":"ls"}"#)
        ]
    );
    let reply = decode(&[
        json!({"choices": [{"delta": {"reasoning": "Hm."}}]}),
        json!({}),
        json!([]),
        json!(7),
    ]);
    assert_eq!(reply.answer.thoughts[0].text, "Hm.");
}

#[test]
fn what_a_stream_tells_in_place_of_an_answer_has_its_class() {
    for (wire, event, class) in [
        (
            Wire::Chat,
            r#"{"error":{"message":"too much","code":"overloaded"}}"#,
            FailureClass::Server,
        ),
        (
            Wire::Chat,
            r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#,
            FailureClass::Limit,
        ),
        (
            Wire::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
            FailureClass::Server,
        ),
        (
            Wire::Responses,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}"#,
            FailureClass::Limit,
        ),
        (
            Wire::Responses,
            r#"{"type":"error","code":"context_length_exceeded","message":"x"}"#,
            FailureClass::Overflow,
        ),
        (Wire::Anthropic, "no json", FailureClass::Network),
    ] {
        let failure = wire
            .decoder()
            .feed(format!("data: {event}\n\n").as_bytes())
            .unwrap_err();
        assert_eq!(failure.class, class, "{event}");
    }
}

#[test]
fn endless_arguments_are_cut_where_it_shows() {
    let mut decoder = Wire::Chat.decoder();
    let piece = "x".repeat(100_000);
    let event = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]});
    for _ in 0..100 {
        decoder.feed(format!("data: {event}\n\n").as_bytes()).unwrap();
    }
    decoder.feed(b"data: [DONE]\n\n").unwrap();
    let length = decoder.end().unwrap().answer.calls[0].arguments.len();
    assert!(
        length > ARGUMENTS_CAP_BYTES && length < ARGUMENTS_CAP_BYTES + 200_000,
        "{length}"
    );
}

/// A conversation with two calls, and thoughts of every API.
fn conversation() -> Vec<ChatMessage> {
    let thought = |text: &str, proof| Reasoning {
        text: text.to_owned(),
        proof,
    };
    let encrypted = |after| ReasoningProof::Encrypted {
        content: format!("e{after}"),
        after,
    };
    let answer = ModelAnswer {
        thoughts: vec![
            thought("Signed.", ReasoningProof::Signature("c2ln".to_owned())),
            thought("Unsigned.", ReasoningProof::Unsigned),
            thought("Said.", ReasoningProof::Field("reasoning_content".to_owned())),
            thought("Hidden.", encrypted(0)),
            thought("", encrypted(1)),
            thought("", encrypted(2)),
        ],
        text: String::new(),
        calls: vec![
            call("c1", "shell", r#"{"command":"ls"}"#),
            call("c2", "shell", "no json"),
        ],
    };
    let result = |call: &str, ok| ToolResult {
        call: call.to_owned(),
        text: "done".to_owned(),
        ok,
    };
    vec![
        ChatMessage::user("Do it."),
        ChatMessage::Assistant(answer),
        ChatMessage::Results {
            results: vec![result("c1", true), result("c2", false)],
        },
    ]
}

fn offer(name: &'static str) -> ToolDescription {
    ToolDescription {
        name: name.into(),
        description: "Runs.".into(),
        schema: json!({"type": "object"}),
    }
}

fn request<'a>(messages: &'a [ChatMessage], offers: &'a [ToolDescription]) -> ModelRequest<'a> {
    ModelRequest {
        model: "m",
        system: "Be good.",
        messages,
        offers,
        answer_tokens: None,
        reasoning: ReasoningControl::Unknown,
        effort: None,
    }
}

/// The values of `key` in the items of a list.
fn each<'v>(list: &'v serde_json::Value, key: &str) -> Vec<&'v str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item[key].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_conversation_is_said_in_the_form_of_chat_completions() {
    let (mut messages, offers) = (conversation(), [offer("shell")]);
    let chat = Wire::Chat.body(request(&messages, &offers));
    let roles = ["system", "user", "assistant", "tool", "tool"];
    assert_eq!(each(&chat["messages"], "role"), roles);
    let said = &chat["messages"];
    assert_eq!(
        said[2]["tool_calls"][1]["function"]["arguments"], "{}",
        "servers refuse nonsense"
    );
    assert_eq!(said[2]["reasoning_content"], "Said.");
    assert_eq!(
        (&said[1]["content"], &said[3]["content"]),
        (&json!("Do it."), &json!("done"))
    );
    assert_eq!(chat["tools"][0]["function"]["name"], "shell");
    messages.push(ChatMessage::user("Hurry."));
    let later = Wire::Chat.body(request(&messages, &offers));
    assert_eq!(later["messages"][5]["content"], "Hurry.");
    assert!(
        later["messages"][2]["reasoning_content"].is_null(),
        "thoughts of an earlier turn"
    );
}

#[test]
fn a_conversation_is_said_in_the_form_of_messages_with_four_marks_for_the_cache() {
    let (mut messages, offers) = (conversation(), [offer("read"), offer("shell")]);
    messages.push(ChatMessage::user("Hurry."));
    let body = Wire::Anthropic.body(request(&messages, &offers));
    assert_eq!(each(&body["messages"], "role"), ["user", "assistant", "user"]);
    let content = |at: usize| &body["messages"][at]["content"];
    assert_eq!(content(0)[0]["text"], "Do it.");
    let kinds = ["thinking", "tool_use", "tool_use"];
    assert_eq!(each(content(1), "type"), kinds, "what is unsigned would be refused");
    assert_eq!(each(content(2), "type"), ["tool_result", "tool_result", "text"]);
    assert_eq!(content(2)[0]["content"], "done");
    assert_eq!(content(2)[1]["is_error"], true);
    let marked = [&content(0)[0], &content(2)[2], &body["system"][0], &body["tools"][1]];
    assert!(
        marked.iter().all(|block| block["cache_control"]["type"] == "ephemeral"),
        "{body}"
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
}

#[test]
fn a_conversation_is_said_in_the_form_of_responses_with_reasoning_in_its_place() {
    let (messages, offers) = (conversation(), [offer("shell")]);
    let body = Wire::Responses.body(request(&messages, &offers));
    let kinds = [
        "message",
        "reasoning",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call_output",
    ];
    assert_eq!(
        each(&body["input"], "type"),
        kinds,
        "reasoning that nothing follows is refused"
    );
    let input = &body["input"];
    assert_eq!(input[0]["content"][0]["text"], "Do it.");
    assert_eq!(
        (&input[1]["encrypted_content"], &input[1]["summary"][0]["text"]),
        (&json!("e0"), &json!("Hidden."))
    );
    assert_eq!(input[4]["arguments"], "{}");
    assert_eq!(
        (&input[5]["output"], &input[6]["output"]),
        (&json!("done"), &json!("done"))
    );
    assert_eq!(
        (&body["store"], &body["instructions"]),
        (&json!(false), &json!("Be good."))
    );
    assert_eq!(body["tools"][0]["name"], "shell");
    assert!(body["include"].is_null(), "models that do not reason refuse it");
}

#[test]
fn the_length_and_the_effort_of_an_answer_are_asked_for_as_each_api_wants_it() {
    let messages = [ChatMessage::user("Do it.")];
    let plain = request(&messages, &[]);
    for wire in [Wire::Chat, Wire::Responses, Wire::Anthropic] {
        assert!(
            wire.body(plain)["tools"].is_null(),
            "{wire:?}: an empty list is refused"
        );
    }
    assert!(Wire::Anthropic.body(plain)["max_tokens"].as_u64() > Some(0));
    assert!(Wire::Chat.body(plain)["max_tokens"].is_null());
    let limited = ModelRequest {
        answer_tokens: Some(5000),
        effort: Some(Effort::High),
        ..plain
    };
    for (wire, control, expected) in [
        (
            Wire::Chat,
            ReasoningControl::Effort,
            json!({"max_tokens": 5000, "reasoning_effort": "high"}),
        ),
        (
            Wire::Responses,
            ReasoningControl::Effort,
            json!({
                "max_output_tokens": 5000, "reasoning": {"effort": "high"},
                "include": ["reasoning.encrypted_content"],
            }),
        ),
        (
            Wire::Anthropic,
            ReasoningControl::Adaptive,
            json!({"max_tokens": 5000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ),
        (
            Wire::Anthropic,
            ReasoningControl::Tokens,
            json!({"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 2500}}),
        ),
        (
            Wire::Anthropic,
            ReasoningControl::Unknown,
            json!({"max_tokens": 5000, "thinking": null, "output_config": null}),
        ),
    ] {
        let body = wire.body(ModelRequest {
            reasoning: control,
            ..limited
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(body[key], *value, "{wire:?} {control:?} {key}");
        }
    }
}
