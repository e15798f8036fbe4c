//! An agent that speaks one channel's protocol and answers line by line.

use std::{
    env,
    io::{self, BufRead, Write},
    process::exit,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::support::now_ns;

/// The argument that makes the bench a speaker.
pub const MARK: &str = "__speaker";
/// Lines of an answer, and the pause before each.
pub const LINES: usize = 20;
pub const PAUSE: Duration = Duration::from_millis(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    ClaudeOneWay,
    ClaudeLive,
    GeminiOneWay,
    CodexLive,
    Acp,
    Server,
}

impl Channel {
    pub const ALL: [Channel; 6] = [
        Channel::ClaudeOneWay,
        Channel::ClaudeLive,
        Channel::GeminiOneWay,
        Channel::CodexLive,
        Channel::Acp,
        Channel::Server,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Channel::ClaudeOneWay => "claude, one-way",
            Channel::ClaudeLive => "claude, live",
            Channel::GeminiOneWay => "gemini, one-way",
            Channel::CodexLive => "codex, live",
            Channel::Acp => "ACP",
            Channel::Server => "opencode-server",
        }
    }

    /// Returns the value of `--channel`.
    pub fn setting(self) -> &'static str {
        match self {
            Channel::ClaudeOneWay | Channel::GeminiOneWay => "one-way",
            Channel::ClaudeLive | Channel::CodexLive | Channel::Acp => "live",
            Channel::Server => "auto",
        }
    }

    /// Returns an adapter whose program is this bench; `None` for the server, whose adapter is built in.
    pub fn manifest(self) -> Option<String> {
        let program = env::current_exe().expect("the bench's own path");
        let (key, value) = match self {
            Channel::ClaudeOneWay => ("dialect", "claude-stream-json"),
            Channel::GeminiOneWay => ("dialect", "gemini-stream-json"),
            Channel::ClaudeLive => ("live.protocol", "claude-stream-json"),
            Channel::CodexLive => ("live.protocol", "codex-app-server"),
            Channel::Acp => ("live.protocol", "acp"),
            Channel::Server => return None,
        };
        let args = match key {
            "dialect" => "command.prompt = \"stdin\"\ncommand.args",
            _ => "live.args",
        };
        Some(format!(
            "{key} = {value:?}\ncommand.program = {program:?}\n{args} = [{MARK:?}, {:?}]\n",
            self.name()
        ))
    }
}

/// Returns the beginning of line number `line`.
pub fn mark(line: usize) -> String {
    format!("line-{line:02}-")
}

fn text_of(line: usize) -> String {
    format!("{}{}\n", mark(line), now_ns())
}

/// Returns the time at which line number `line` in `text` was written.
pub fn moment_of(text: &str, line: usize) -> u64 {
    let (_, rest) = text.split_once(&mark(line)).expect("the line");
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().expect("a moment")
}

/// Passes all lines to `say`, one after the other, and returns them together.
pub fn say_all(mut say: impl FnMut(&str)) -> String {
    let mut whole = String::new();
    for line in 0..LINES {
        thread::sleep(PAUSE);
        let text = text_of(line);
        say(&text);
        whole.push_str(&text);
    }
    whole
}

/// Turns this process into the agent if it was started as one; it does not return then.
pub fn become_speaker_if_asked() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [mark, name] = &args[..] else { return };
    if mark != MARK {
        return;
    }
    let channel = Channel::ALL.into_iter().find(|channel| channel.name() == name);
    match channel {
        None => {
            say_all(raw);
        }
        Some(Channel::ClaudeOneWay) => {
            _ = io::stdin().lines().count(); // skips the prompt
            claude();
        }
        Some(Channel::ClaudeLive) => {
            if greeted_until_prompt() {
                claude();
            }
        }
        Some(Channel::GeminiOneWay) => {
            _ = io::stdin().lines().count();
            gemini();
        }
        Some(Channel::CodexLive) => codex(),
        Some(Channel::Acp | Channel::Server) => acp(),
    }
    exit(0);
}

fn raw(text: &str) {
    let mut out = io::stdout().lock();
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush()); // the reader may be gone
}

fn write(message: &Value) {
    raw(&format!("{message}\n"));
}

/// Answers claude's control requests before the prompt; returns whether a prompt came, which a mere greeting does not
/// have.
fn greeted_until_prompt() -> bool {
    for line in io::stdin().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
            return false;
        };
        if message["type"] != "control_request" {
            return true;
        }
        let response = json!({"subtype": "success", "request_id": message["request_id"]});
        write(&json!({"type": "control_response", "response": response}));
    }
    false
}

fn claude() {
    write(&json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"}));
    let whole = say_all(|text| {
        let delta = json!({"type": "text_delta", "text": text});
        write(&json!({"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}}));
    });
    write(&json!({"type": "assistant", "message": {"content": [{"type": "text", "text": whole}]}}));
    write(&json!({"type": "result", "subtype": "success", "is_error": false, "result": whole}));
}

fn gemini() {
    write(&json!({"type": "init", "session_id": "s", "model": "m"}));
    say_all(|text| write(&json!({"type": "message", "role": "assistant", "content": text, "delta": true})));
    write(&json!({"type": "result", "status": "success"}));
}

/// Passes the method and id of each request to `speak`, until it returns true.
fn serve(mut speak: impl FnMut(&str, &Value) -> bool) {
    for line in io::stdin().lock().lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
            return;
        };
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        if speak(&method, &request["id"]) {
            return;
        }
    }
}

fn codex() {
    serve(|method, id| {
        let tell = |method: &str, params: Value| write(&json!({"method": method, "params": params}));
        match method {
            "initialize" => write(&json!({"id": id, "result": {}})),
            "thread/start" => write(&json!({"id": id, "result": {"thread": {"id": "t"}, "model": "m"}})),
            "turn/start" => {
                write(&json!({"id": id, "result": {"turn": {"id": "u"}}}));
                tell("turn/started", json!({"turn": {"id": "u"}}));
                let whole = say_all(|text| {
                    tell("item/agentMessage/delta", json!({"itemId": "i", "delta": text}));
                });
                let item = json!({"type": "agentMessage", "id": "i", "text": whole});
                tell("item/completed", json!({"item": item}));
                tell("turn/completed", json!({"turn": {"id": "u", "status": "completed"}}));
                return true;
            }
            _ => {}
        }
        false
    });
}

fn acp() {
    serve(|method, id| {
        let answer = |result: Value| write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        match method {
            "initialize" => answer(json!({"protocolVersion": 1, "agentCapabilities": {}})),
            "session/new" => answer(json!({"sessionId": "s"})),
            "session/prompt" => {
                say_all(|text| {
                    let content = json!({"type": "text", "text": text});
                    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
                    let params = json!({"sessionId": "s", "update": update});
                    write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
                });
                answer(json!({"stopReason": "end_turn"}));
                return true;
            }
            _ => {}
        }
        false
    });
}
