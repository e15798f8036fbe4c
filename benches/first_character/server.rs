//! A server with opencode's protocol that answers a prompt line by line.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::speaker::say_all;

/// A server that runs until the bench ends.
pub struct Server {
    address: SocketAddr,
}

type Streams = Arc<Mutex<Vec<TcpStream>>>;

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let streams = Streams::default();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let streams = Arc::clone(&streams);
                thread::spawn(move || serve(stream, &streams));
            }
        });
        Server { address }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(mut stream: TcpStream, streams: &Streams) {
    stream.set_nodelay(true).expect("a socket");
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    while let Some(request) = request(&mut reader) {
        let body = match request.as_str() {
            "GET /event" => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let connected = json!({"type": "server.connected", "properties": {}});
                _ = write!(stream, "{head}data: {connected}\n\n"); // the client may be gone
                streams.lock().push(stream);
                return;
            }
            "GET /global/health" => json!({"healthy": true, "version": "1.18.33"}),
            "POST /session" | "GET /session/ses_1" => json!({"id": "ses_1"}),
            "GET /session/status" => json!({}),
            "POST /session/ses_1/prompt_async" => {
                let streams = Arc::clone(streams);
                thread::spawn(move || speak(&streams));
                Value::Null
            }
            _ => json!([]),
        };
        if body.is_null() {
            _ = write!(stream, "HTTP/1.1 204 No Content\r\n\r\n"); // the client may be gone
            continue;
        }
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}",
            body.len()
        );
        _ = write!(stream, "{head}\r\n\r\n{body}"); // the client may be gone
    }
}

/// Returns method and path of the next request; its body is discarded.
fn request(reader: &mut impl BufRead) -> Option<String> {
    let (mut head, mut length) = (String::new(), 0);
    reader.read_line(&mut head).ok().filter(|count| *count > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new()).ok()?;
    let mut words = head.split_whitespace();
    let (method, path) = (words.next()?, words.next()?);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    Some(format!("{method} {path}"))
}

fn speak(streams: &Streams) {
    let tell = |kind: &str, properties: Value| {
        let event = json!({"type": kind, "properties": properties});
        for mut stream in &*streams.lock() {
            _ = write!(stream, "data: {event}\n\n"); // the client may be gone
        }
    };
    let session = "ses_1";
    let message = |finish: Option<&str>| {
        let info = json!({"id": "msg_2", "sessionID": session, "role": "assistant", "finish": finish});
        json!({"sessionID": session, "info": info})
    };
    let part = |text: &str, time: Value| {
        let (id, kind) = ("prt_2", "text");
        let part = json!({
            "id": id, "sessionID": session, "messageID": "msg_2", "type": kind, "text": text, "time": time,
        });
        json!({"sessionID": session, "part": part})
    };
    let user = json!({"id": "msg_1", "sessionID": session, "role": "user"});
    tell(
        "session.status",
        json!({"sessionID": session, "status": {"type": "busy"}}),
    );
    tell("message.updated", json!({"sessionID": session, "info": user}));
    tell("message.updated", message(None));
    tell("message.part.updated", part("", json!({"start": 1})));
    let whole = say_all(|text| {
        let delta = json!({
            "sessionID": session, "messageID": "msg_2", "partID": "prt_2", "field": "text", "delta": text,
        });
        tell("message.part.delta", delta);
    });
    tell("message.part.updated", part(&whole, json!({"start": 1, "end": 2})));
    tell("message.updated", message(Some("stop")));
    tell("session.idle", json!({"sessionID": session}));
}
