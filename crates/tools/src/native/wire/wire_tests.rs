use serde_json::json;

use super::*;
use crate::native::{
    failure::FailureClass,
    message::{ChatMessage, ModelAnswer, ModelCall, Reasoning, ToolDescription, ToolResult},
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
    for (wire, stream, signature, second) in [(Wire::Chat, CHAT, "", "{}"), (Wire::Anthropic, ANTHROPIC, "c2ln", "")] {
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
            assert_eq!(reply.answer.thoughts[0].signature, signature);
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

#[test]
fn a_conversation_is_said_in_the_form_of_each_api() {
    let answer = ModelAnswer {
        thoughts: vec![
            Reasoning {
                text: "Signed.".to_owned(),
                signature: "c2ln".to_owned(),
                redacted: None,
            },
            Reasoning {
                text: "Unsigned.".to_owned(),
                ..Reasoning::default()
            },
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
    let messages = [
        ChatMessage::User {
            text: "Do it.".to_owned(),
        },
        ChatMessage::Assistant(answer),
        ChatMessage::Results {
            results: vec![result("c1", true), result("c2", false)],
        },
        ChatMessage::User {
            text: "Hurry.".to_owned(),
        },
    ];
    let offers = [ToolDescription {
        name: "shell".into(),
        description: "Runs.".into(),
        schema: json!({"type": "object"}),
    }];
    let request = ModelRequest {
        model: "m",
        system: "Be good.",
        messages: &messages,
        offers: &offers,
        answer_tokens: None,
    };
    let chat = Wire::Chat.body(request);
    let roles: Vec<_> = chat["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].clone())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(
        chat["messages"][2]["tool_calls"][1]["function"]["arguments"], "{}",
        "servers refuse nonsense"
    );
    assert_eq!(chat["tools"][0]["function"]["name"], "shell");
    let anthropic = Wire::Anthropic.body(request);
    let roles: Vec<_> = anthropic["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].clone())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let kinds = |at: usize| -> Vec<_> {
        let blocks = anthropic["messages"][at]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["type"].clone()).collect()
    };
    assert_eq!(
        kinds(1),
        ["thinking", "tool_use", "tool_use"],
        "what is unsigned would be refused"
    );
    assert_eq!(kinds(2), ["tool_result", "tool_result", "text"]);
    assert_eq!(anthropic["messages"][2]["content"][1]["is_error"], true);
    assert_eq!(
        anthropic["messages"][2]["content"][2]["cache_control"]["type"],
        "ephemeral"
    );
    assert!(anthropic["max_tokens"].as_u64() > Some(0));
    assert!(chat.get("max_tokens").is_none());
    let answer_tokens = Some(500);
    for wire in [Wire::Chat, Wire::Anthropic] {
        let body = wire.body(ModelRequest {
            answer_tokens,
            ..request
        });
        assert_eq!(body["max_tokens"], 500);
    }
}
