//! A server that answers and fails as a test wants.

use std::{
    io::{BufReader, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::{
    harness::{SOON, wait_until},
    stand_in::http::{RawRequest, read_request},
};

pub const SESSION: &str = "ses_1";

/// A running server. Dropping it closes every connection.
pub struct FakeServer {
    address: SocketAddr,
    shared: Arc<FakeServerShared>,
    acceptor: Option<JoinHandle<()>>,
}

/// Reaction to every request, whatever its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Willing,
    /// Requires another password.
    Unauthorized,
    /// Never answers.
    Silent,
    /// Reports to be opencode 2.
    TooNew,
    /// Another program, which serves its page for every path.
    Foreign,
}

/// Handling of messages after the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageHandling {
    Taken,
    Refused,
    /// The server does not answer.
    Unanswered,
}

struct FakeServerShared {
    state: Mutex<FakeServerState>,
    closing: AtomicBool,
}

struct FakeServerState {
    behaviour: Behaviour,
    /// Requests in order, as `METHOD path` with their bodies.
    requests: Vec<(String, Value)>,
    open: Vec<TcpStream>,
    /// Connections that carry the stream of events.
    streams: Vec<TcpStream>,
    statuses: Value,
    messages: Value,
    permissions: Value,
    children: Value,
    /// Whether aborts are left unanswered.
    ignores_aborts: bool,
    message_handling: MessageHandling,
}

impl FakeServer {
    pub fn start() -> FakeServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(FakeServerShared {
            state: Mutex::new(FakeServerState {
                behaviour: Behaviour::Willing,
                requests: Vec::new(),
                open: Vec::new(),
                streams: Vec::new(),
                statuses: json!({}),
                messages: json!([]),
                permissions: json!([]),
                children: json!([]),
                ignores_aborts: false,
                message_handling: MessageHandling::Taken,
            }),
            closing: AtomicBool::new(false),
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        FakeServer {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.state().behaviour = behaviour;
    }

    pub fn ignore_aborts(&self) {
        self.state().ignores_aborts = true;
    }

    pub fn treat_messages(&self, message_handling: MessageHandling) {
        self.state().message_handling = message_handling;
    }

    /// Reports the session as busy or idle.
    pub fn set_busy(&self, busy: bool) {
        self.state().statuses = match busy {
            true => json!({ SESSION: { "type": "busy" } }),
            false => json!({}),
        };
    }

    pub fn set_messages(&self, messages: Value) {
        self.state().messages = messages;
    }

    pub fn set_permissions(&self, permissions: Value) {
        self.state().permissions = permissions;
    }

    pub fn set_children(&self, children: Value) {
        self.state().children = children;
    }

    /// Sends an event to every open stream.
    pub fn emit(&self, kind: &str, properties: Value) {
        let event = json!({ "type": kind, "properties": properties });
        for stream in &self.state().streams {
            _ = say(stream, &event); // it may be gone
        }
    }

    /// Closes every stream.
    pub fn cut_streams(&self) {
        for stream in self.state().streams.drain(..) {
            _ = stream.shutdown(Shutdown::Both); // it may be gone
        }
    }

    /// The bodies of the requests so far whose `METHOD path` begins with `start`.
    pub fn requests(&self, start: &str) -> Vec<Value> {
        let state = self.state();
        let found = state.requests.iter().filter(|(request, _)| request.starts_with(start));
        found.map(|(_, body)| body.clone()).collect()
    }

    /// Waits for the `count`th request that begins with `start`, and returns its body.
    #[track_caller]
    pub fn wait_for(&self, start: &str, count: usize) -> Value {
        wait_until(SOON, &format!("{count} × {start}"), || {
            self.requests(start).get(count - 1).cloned()
        })
    }

    fn state(&self) -> MutexGuard<'_, FakeServerState> {
        self.shared.state()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        for stream in &self.state().open {
            _ = stream.shutdown(Shutdown::Both); // it may be gone
        }
        _ = TcpStream::connect(self.address); // wakes the acceptor
        if let Some(acceptor) = self.acceptor.take() {
            _ = acceptor.join(); // a panic there has been printed
        }
    }
}

impl FakeServerShared {
    fn state(&self) -> MutexGuard<'_, FakeServerState> {
        self.state.lock()
    }

    fn accept(&self, listener: &TcpListener) {
        thread::scope(|threads| {
            for stream in listener.incoming().flatten() {
                self.state().open.push(stream.try_clone().expect("a clone"));
                if self.closing.load(Ordering::SeqCst) {
                    return;
                }
                threads.spawn(move || self.serve(stream));
            }
        });
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
        while let Ok(Some(request)) = read_request(&mut reader, &mut stream) {
            let name = format!("{} {}", request.method, request.path);
            let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
            let (behaviour, deaf) = {
                let mut state = self.state();
                state.requests.push((name.clone(), body));
                let unanswered =
                    state.message_handling == MessageHandling::Unanswered && name.ends_with("/prompt_async");
                let deaf = state.ignores_aborts && name.ends_with("/abort");
                (state.behaviour, deaf || unanswered)
            };
            match behaviour {
                Behaviour::Willing if deaf => continue,
                Behaviour::Silent => continue,
                Behaviour::Willing if request.path == "/event" => return self.stream(stream),
                Behaviour::Willing => {
                    let (status, body) = self.answer(&request);
                    respond(&stream, status, "application/json", &body.to_string());
                }
                Behaviour::TooNew => {
                    let body = json!({ "healthy": true, "version": "2.1.3" });
                    respond(&stream, "200 OK", "application/json", &body.to_string());
                }
                Behaviour::Unauthorized => respond(&stream, "401 Unauthorized", "text/plain", ""),
                Behaviour::Foreign => respond(&stream, "200 OK", "text/html", "<!doctype html><p>Hello"),
            }
        }
    }

    /// Keeps the connection for events.
    fn stream(&self, stream: TcpStream) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        // The lock ensures that a greeted client receives every event from then on.
        let mut state = self.state();
        let greeted = (&stream)
            .write_all(head.as_bytes())
            .and_then(|()| say(&stream, &json!({ "type": "server.connected", "properties": {} })));
        if greeted.is_ok() {
            state.streams.push(stream);
        }
    }

    fn answer(&self, request: &RawRequest) -> (&'static str, Value) {
        let state = self.state();
        let ok = |body: Value| ("200 OK", body);
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/global/health") => ok(json!({ "healthy": true, "version": "1.18.33" })),
            ("POST", "/session") => ok(json!({ "id": SESSION })),
            ("GET", "/session/ses_1") => ok(json!({ "id": SESSION })),
            ("GET", "/session/status") => ok(state.statuses.clone()),
            ("GET", "/session/ses_1/message") => ok(state.messages.clone()),
            ("GET", "/session/ses_1/children") => ok(state.children.clone()),
            ("GET", "/permission") => ok(state.permissions.clone()),
            ("GET", "/question") => ok(json!([])),
            ("POST", "/session/ses_1/prompt_async") if state.message_handling == MessageHandling::Refused => (
                "400 Bad Request",
                json!({ "name": "BadRequest", "data": { "message": "no more of that" } }),
            ),
            ("POST", "/session/ses_1/prompt_async") => ("204 No Content", Value::Null),
            ("POST", path) if path.ends_with("/abort") || path.ends_with("/reply") => ok(json!(true)),
            (_, _) => (
                "404 Not Found",
                json!({ "name": "NotFoundError", "data": { "message": "no" } }),
            ),
        }
    }
}

fn say(mut stream: &TcpStream, event: &Value) -> std::io::Result<()> {
    write!(stream, "data: {event}\n\n")
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, body: &str) {
    let body = if status.starts_with("204") { "" } else { body };
    let length = body.len();
    // The client may have gone.
    _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
}

/// The events of a turn, in the format of the real server.
pub mod say {
    use serde_json::{Value, json};

    use super::SESSION;

    pub fn user(id: &str) -> Value {
        json!({ "sessionID": SESSION, "info": { "id": id, "sessionID": SESSION, "role": "user" } })
    }

    /// A message of the assistant; it is finished if there is a reason.
    pub fn assistant(id: &str, reason: Option<&str>) -> Value {
        json!({ "sessionID": SESSION, "info": info(id, reason) })
    }

    fn info(id: &str, reason: Option<&str>) -> Value {
        json!({ "id": id, "sessionID": SESSION, "role": "assistant", "finish": reason })
    }

    /// A complete text part.
    pub fn text(id: &str, message: &str, text: &str) -> Value {
        json!({ "sessionID": SESSION, "part": {
            "id": id, "sessionID": SESSION, "messageID": message, "type": "text", "text": text,
            "time": { "start": 1, "end": 2 },
        } })
    }

    /// The part with the prompt.
    pub fn prompt(id: &str, message: &str) -> Value {
        json!({ "sessionID": SESSION, "part": {
            "id": id, "sessionID": SESSION, "messageID": message, "type": "text", "text": "go",
        } })
    }

    pub fn tool(id: &str, message: &str, status: &str) -> Value {
        json!({ "sessionID": SESSION, "part": {
            "id": id, "sessionID": SESSION, "messageID": message, "type": "tool", "tool": "bash", "callID": "call_1",
            "state": { "status": status, "input": { "command": "make" }, "output": "made" },
        } })
    }

    /// A session's messages: a prompt, a step with a tool, and the last word.
    pub fn messages(last_word: &str) -> Value {
        json!([
            { "info": user("msg_1")["info"], "parts": [prompt("prt_1", "msg_1")["part"]] },
            { "info": info("msg_2", Some("tool-calls")), "parts": [tool("prt_2", "msg_2", "completed")["part"]] },
            { "info": info("msg_3", Some("stop")), "parts": [text("prt_3", "msg_3", last_word)["part"]] },
        ])
    }

    pub fn idle() -> Value {
        json!({ "sessionID": SESSION })
    }
}

/// Silence after which a connection counts as lost, in tests that wait for that.
pub const BRIEFLY: Duration = Duration::from_millis(300);
