//! Tests of the server with a client that can do more than any agent.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use super::{ExchangeOutcome, RequestKind, Scenario, StandIn, answer, http, say, silence};
use crate::harness::SOON;

const TICK: Duration = Duration::from_millis(1);

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let model = StandIn::start(Scenario::new().then(say("first")).then(http(500)));
    let mut client = connect(&model);
    post(&mut client, "/v1/responses", &main());
    assert!(read_until(&mut client, "\r\n0\r\n\r\n").contains("\"delta\":\"first\""));
    post(&mut client, "/v1/responses", &main());
    assert!(read_until(&mut client, "stand-in").starts_with("HTTP/1.1 500 "));
    assert_eq!(steps(&model), [Some(0), Some(1)]);
}

#[test]
fn a_side_request_uses_up_no_step() {
    let model = StandIn::start(
        Scenario::new()
            .then(say("first"))
            .then(say("second"))
            .side(say("a title")),
    );
    let mut client = connect(&model);
    post(&mut client, "/v1/responses", &json!({ "input": [] }));
    assert!(read_until(&mut client, "\r\n0\r\n\r\n").contains("a title"));
    post(&mut client, "/v1/responses", &main());
    assert!(read_until(&mut client, "\r\n0\r\n\r\n").contains("first"));
    assert_eq!(steps(&model), [None, Some(0)]);
    assert_eq!(model.exchanges()[0].request.kind, RequestKind::Side);
}

#[test]
fn the_last_step_repeats_and_a_new_scenario_starts_at_its_first() {
    let model = StandIn::start(Scenario::new().then(say("one")).then(say("two")));
    let mut client = connect(&model);
    for expected in ["one", "two", "two"] {
        post(&mut client, "/v1/responses", &main());
        assert!(read_until(&mut client, "\r\n0\r\n\r\n").contains(expected));
    }
    model.play(say("new"));
    post(&mut client, "/v1/responses", &main());
    assert!(read_until(&mut client, "\r\n0\r\n\r\n").contains("new"));
}

#[test]
fn dropping_the_server_ends_every_kind_of_hanging() {
    for scenario in [
        silence(),
        say("words").hang().into(),
        answer().endless(TICK).into(),
        http_after_a_day(),
    ] {
        let model = StandIn::start(scenario);
        let mut client = connect(&model);
        post(&mut client, "/v1/responses", &main());
        model.wait_for_request(1, SOON);
        drop(model);
        // The connection must end; whether cleanly does not matter.
        _ = client.read_to_end(&mut Vec::new());
    }
}

#[test]
fn a_client_that_goes_ends_its_answer() {
    for scenario in [
        silence(),
        say("words").hang().into(),
        answer().endless(TICK).into(),
        http_after_a_day(),
    ] {
        let model = StandIn::start(scenario);
        let mut client = connect(&model);
        post(&mut client, "/v1/responses", &main());
        model.wait_for_request(1, SOON);
        drop(client);
        model.wait_for(SOON, "end", |seen| {
            seen[0]
                .outcome
                .filter(|&outcome| outcome == ExchangeOutcome::ClientGone)
        });
    }
}

#[test]
fn a_cut_answer_ends_before_its_stream_does() {
    for (path, body) in streams() {
        let model = StandIn::start(say("half a sen").cut());
        let mut client = connect(&model);
        post(&mut client, path, &body);
        let mut seen = String::new();
        client.read_to_string(&mut seen).unwrap();
        assert!(seen.contains("half a sen") && !seen.contains("\r\n0\r\n"), "{seen}");
        assert_eq!(model.wait_for_end(1, SOON), ExchangeOutcome::Cut);
    }
}

#[test]
fn every_protocol_streams_its_words_one_by_one_and_ends() {
    for (path, body) in streams() {
        let model = StandIn::start(answer().reasoning("Count.").text("one two").drip(TICK).shell("ls"));
        let mut client = connect(&model);
        post(&mut client, path, &body);
        let seen = read_until(&mut client, "\r\n0\r\n\r\n");
        for expected in ["Count.", "\"one \"", "\"two\"", "exec_command", "ls"] {
            assert!(seen.contains(expected), "{path}: no {expected} in {seen}");
        }
        let request = model.main_requests().pop().unwrap();
        assert_eq!(
            (request.prompt(), request.tool_results.as_slice()),
            ("Do it.", ["done".to_owned()].as_slice())
        );
    }
}

#[test]
fn what_goes_wrong_within_a_stream_is_said_in_it() {
    for (path, body) in streams() {
        let model = StandIn::start(answer().error("overloaded", "too much"));
        let mut client = connect(&model);
        post(&mut client, path, &body);
        let seen = read_until(&mut client, "\r\n0\r\n\r\n");
        assert!(seen.starts_with("HTTP/1.1 200 ") && seen.contains("too much"), "{seen}");
    }
}

#[test]
fn an_answer_wanted_at_once_comes_whole() {
    for (path, body) in at_once() {
        let model = StandIn::start(answer().text("one two").shell("ls").drip(TICK));
        let mut client = connect(&model);
        post(&mut client, path, &body);
        let seen = read_body(&mut client);
        let seen = seen.to_string();
        assert!(seen.contains("\"one two\"") && seen.contains("exec_command"), "{seen}");
    }
}

#[test]
fn what_would_go_wrong_within_a_stream_goes_wrong_before_an_answer_at_once() {
    for (path, body) in at_once() {
        let model = StandIn::start(
            Scenario::new()
                .then(answer().error("overloaded", ""))
                .then(say("half").cut()),
        );
        let mut client = connect(&model);
        post(&mut client, path, &body);
        assert!(read_until(&mut client, "\"error\"").starts_with("HTTP/1.1 5"));
        drop(client);
        let mut client = connect(&model);
        post(&mut client, path, &body);
        assert_eq!(
            client.read(&mut [0]).unwrap(),
            0,
            "{path}: no byte of an answer that is cut"
        );
        assert_eq!(model.wait_for_end(2, SOON), ExchangeOutcome::Cut);
    }
}

#[test]
fn counts_and_catalogs_take_no_step() {
    let model = StandIn::start(say("first"));
    let mut client = connect(&model);
    post(&mut client, "/v1/messages/count_tokens", &json!({}));
    assert_eq!(read_body(&mut client)["input_tokens"], 1000);
    post(&mut client, "/v1beta/models/m:countTokens", &json!({}));
    assert_eq!(read_body(&mut client)["totalTokens"], 1000);
    client.write_all(b"GET /v1/models HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(read_body(&mut client)["data"][0]["id"], "stand-in");
    client.write_all(b"HEAD / HTTP/1.1\r\n\r\n").unwrap();
    assert!(read_until(&mut client, "\r\n\r\n").ends_with("content-length: 0\r\n\r\n"));
    assert_eq!(steps(&model), [None; 4]);
}

#[test]
fn an_error_carries_its_headers_and_its_own_body() {
    let model = StandIn::start(
        http(429)
            .header("retry-after", "7")
            .body(json!({ "error": { "resets_at": 9 } })),
    );
    let mut client = connect(&model);
    post(&mut client, "/v1/responses", &main());
    let seen = read_until(&mut client, "}}");
    assert!(
        seen.contains("\r\nretry-after: 7\r\n") && seen.ends_with("{\"error\":{\"resets_at\":9}}"),
        "{seen}"
    );
}

#[test]
fn what_no_model_answers_is_refused_and_logged() {
    let model = StandIn::start(say("never said"));
    let mut client = connect(&model);
    post(&mut client, "/telemetry", &json!({}));
    assert!(read_until(&mut client, "no such path").starts_with("HTTP/1.1 404 "));
    assert_eq!(model.exchanges()[0].request.kind, RequestKind::Other);
}

#[test]
fn a_compressed_request_is_refused_aloud() {
    let model = StandIn::start(say("never said"));
    let mut client = connect(&model);
    let head = "POST /v1/responses HTTP/1.1\r\ncontent-encoding: zstd\r\ncontent-length: 0\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    assert!(read_until(&mut client, "zstd").starts_with("HTTP/1.1 415 "));
}

fn http_after_a_day() -> super::Step {
    super::Step::from(http(500)).after(Duration::from_secs(86_400))
}

fn main() -> Value {
    json!({ "model": "m", "input": [], "tools": [{ "type": "function", "name": "exec_command" }] })
}

/// A streaming request in each protocol, with a prompt, a tool and its result.
fn streams() -> [(&'static str, Value); 4] {
    let responses = json!({
        "tools": [{ "type": "function", "name": "exec_command" }],
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Do it." }] },
            { "type": "function_call_output", "output": "done" },
        ],
    });
    let [chat, messages, gemini] = at_once();
    let streamed = |mut body: Value| {
        body["stream"] = true.into();
        body
    };
    [
        ("/v1/responses", responses),
        (chat.0, streamed(chat.1)),
        (messages.0, streamed(messages.1)),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", gemini.1),
    ]
}

/// The same requests for an answer in one piece, for protocols that support it.
fn at_once() -> [(&'static str, Value); 3] {
    let chat = json!({
        "tools": [{ "type": "function", "function": { "name": "exec_command" } }],
        "messages": [{ "role": "user", "content": "Do it." }, { "role": "tool", "content": "done" }],
    });
    let messages = json!({
        "tools": [{ "name": "exec_command" }],
        "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "Do it." },
            { "type": "tool_result", "content": [{ "type": "text", "text": "done" }] },
        ] }],
    });
    let gemini = json!({
        "tools": [{ "functionDeclarations": [{ "name": "exec_command" }] }],
        "contents": [{ "role": "user", "parts": [
            { "text": "Do it." },
            { "functionResponse": { "response": { "output": "done" } } },
        ] }],
    });
    [
        ("/v1/chat/completions", chat),
        ("/v1/messages?beta=true", messages),
        ("/v1beta/models/m:generateContent", gemini),
    ]
}

fn connect(model: &StandIn) -> TcpStream {
    let origin = model.origin();
    let address = origin.trim_start_matches("http://");
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    client
}

fn post(client: &mut TcpStream, path: &str, body: &Value) {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: stand-in\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).unwrap();
}

fn read_until(client: &mut TcpStream, end: &str) -> String {
    let mut seen = Vec::new();
    while !seen.ends_with(end.as_bytes()) && !String::from_utf8_lossy(&seen).contains(end) {
        let mut buffer = [0; 4096];
        let count = client.read(&mut buffer).expect("an answer in time");
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(seen).unwrap()
}

/// Reads an answer with a declared length.
fn read_body(client: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(client);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn steps(model: &StandIn) -> Vec<Option<usize>> {
    model.exchanges().iter().map(|exchange| exchange.step).collect()
}
