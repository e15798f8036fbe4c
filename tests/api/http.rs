//! Requests as raw bytes, including ones that HTTP libraries refuse to send.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::harness::{SOON, Sandbox, running::Running};

/// A complete answer.
#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: String,
}

impl RawAnswer {
    /// The detail of a problem answer.
    pub fn detail(&self) -> String {
        let problem: Value = serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        problem["detail"].as_str().expect("a problem has a detail").to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find_map(|(header, value)| (header == name).then_some(value))
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(SOON)).expect("a socket");
    stream.set_write_timeout(Some(SOON)).expect("a socket");
    stream
}

/// Sends a request with these lines as its head, and waits for the answer and the end of the connection.
#[track_caller]
pub fn send(address: SocketAddr, head: &str, body: &str) -> RawAnswer {
    let lines: Vec<&str> = head.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let head = lines.join("\r\n");
    let request = format!(
        "{head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = connect(address);
    _ = stream.write_all(request.as_bytes()); // a server that does not read all of it has answered
    answer(&mut stream)
}

/// Sends a request and reads the answer up to its body.
#[track_caller]
pub fn answer_head(stream: &mut TcpStream, head: &str) -> String {
    let request = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        bytes.extend(byte);
    }
    String::from_utf8_lossy(&bytes).to_lowercase()
}

/// Reads the rest of the connection as an answer.
#[track_caller]
pub fn answer(stream: &mut impl Read) -> RawAnswer {
    let mut bytes = Vec::new();
    // A server that stops reading resets the connection after its answer.
    _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let head = head.to_lowercase();
    RawAnswer {
        status: status.expect("a status"),
        body: match head.contains("transfer-encoding: chunked") {
            true => joined(body),
            false => body.to_owned(),
        },
        head,
    }
}

/// Joins a chunked body; each chunk follows a line with its length.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        let (Some(chunk), Some(next)) = (rest.get(..length), rest.get(length + 2..)) else {
            break;
        };
        body.push_str(chunk);
        chunks = next;
    }
    body
}

/// The address on which a run listens.
#[track_caller]
pub fn address(running: &Running) -> SocketAddr {
    let record = running.wait_for_record(SOON, |event| {
        event.notice().is_some_and(|notice| notice.code == "listening")
    });
    let notice = record.event.notice().expect("it was waited for");
    let url = &notice.data["url"];
    let address = url.strip_prefix("http://").and_then(|address| address.parse().ok());
    address.unwrap_or_else(|| panic!("no address: {url}"))
}

/// The output of `ralph token`.
#[track_caller]
pub fn token(sandbox: &Sandbox, flags: &[&str]) -> String {
    let printed = sandbox.ralph(["token"]).args(flags).run(SOON);
    assert_eq!(printed.code(), Some(0), "{printed:?}");
    printed.stdout.trim().to_owned()
}
