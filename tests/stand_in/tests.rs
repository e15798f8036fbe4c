//! The server by itself, asked by a client that can do what no agent does.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Kind, Outcome, Scenario, StandIn, answer, http, say, silence};
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
    assert_eq!(model.exchanges()[0].request.kind, Kind::Side);
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
        // The end of the stream, clean or not: what matters is that it comes.
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
            seen[0].outcome.filter(|&outcome| outcome == Outcome::ClientGone)
        });
    }
}

#[test]
fn a_cut_answer_ends_before_its_stream_does() {
    let model = StandIn::start(say("half a sen").cut());
    let mut client = connect(&model);
    post(&mut client, "/v1/responses", &main());
    let mut seen = String::new();
    client.read_to_string(&mut seen).unwrap();
    assert!(
        seen.contains("half a sen") && !seen.contains("response.completed"),
        "{seen}"
    );
    assert_eq!(model.wait_for_end(1, SOON), Outcome::Cut);
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
    assert_eq!(model.exchanges()[0].request.kind, Kind::Other);
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

fn connect(model: &StandIn) -> TcpStream {
    let address = model.base_url();
    let address = address.trim_start_matches("http://").trim_end_matches("/v1");
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

fn steps(model: &StandIn) -> Vec<Option<usize>> {
    model.exchanges().iter().map(|exchange| exchange.step).collect()
}
