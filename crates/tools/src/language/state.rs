//! The state of a server, collected by its reader thread for pending requests.

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use parking_lot::Mutex;
use ralph_core::event::{Exit, clip};
use ralph_system::proc::{Child, ChildEnd, OutputSink, StopSpeed};
use ralph_text::json_rpc::{self, JsonRpcMessage, METHOD_NOT_FOUND};
use ralph_text::{last_line, one_line};
use serde_json::{Value, json};
use tokio::{
    sync::{oneshot, watch},
    time::timeout_at,
};

use super::uri;
use crate::json_rpc::{Frames, Peer, RequestError, framed};

/// Most files whose diagnostics are stored, and most diagnostics of one file.
const FILES: usize = 2000;
const IN_A_FILE: usize = 200;
/// Most tasks of a server that are tracked.
const TASKS: usize = 64;
/// Most bytes of its stderr that are kept, to explain its end.
const SAID_BYTES: usize = 4 << 10;

/// The connection to a server.
#[derive(Debug)]
pub(super) struct ServerLink {
    child: Mutex<Option<Child>>,
    peer: Peer,
    state: Mutex<ServerState>,
    /// Incremented with every message about the server's state.
    news: watch::Sender<u64>,
    root: PathBuf,
}

#[derive(Debug)]
struct ServerState {
    /// The latest diagnostics of each file.
    diagnostics: BTreeMap<PathBuf, PublishedDiagnostics>,
    /// Running tasks by their tokens.
    tasks: BTreeMap<String, String>,
    /// rust-analyzer's own report of its state, which is the most reliable.
    quiescent: Option<bool>,
    latest: Instant,
    stderr: String,
}

#[derive(Debug, Clone)]
pub(super) struct PublishedDiagnostics {
    pub(super) items: Vec<Value>,
    /// A number that grows with each publication.
    pub(super) number: u64,
}

impl PublishedDiagnostics {
    /// The first diagnostics in a server's response.
    pub(super) fn from_response(diagnostics: &Value, number: u64) -> Self {
        let items = diagnostics.as_array().map_or(&[][..], Vec::as_slice);
        let items = items.iter().take(IN_A_FILE).cloned().collect();
        Self { items, number }
    }
}

impl ServerLink {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            child: Mutex::default(),
            peer: Peer::default(),
            state: Mutex::new(ServerState {
                diagnostics: BTreeMap::new(),
                tasks: BTreeMap::new(),
                quiescent: None,
                latest: Instant::now(),
                stderr: String::new(),
            }),
            news: watch::Sender::new(0),
            root,
        }
    }

    pub(super) fn set_child(&self, child: Child) {
        *self.child.lock() = Some(child);
    }

    /// Stops the server.
    pub(super) fn stop(&self, stop: StopSpeed) {
        if let Some(child) = &*self.child.lock() {
            child.stop(stop);
        }
    }

    fn write(&self, message: &Value) -> bool {
        let child = self.child.lock();
        child
            .as_ref()
            .is_some_and(|child| child.write_input(&framed(message)).is_ok())
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        // If the server has ended, the next request reports it.
        _ = self.write(&json_rpc::notification(method, params));
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(&self, method: &str, params: &Value, until: Instant) -> Result<Value, RequestError> {
        let (message, sent) = self.peer.request(method, params)?;
        if !self.write(&message) {
            let why = self.ended().unwrap_or_else(|| "it takes no input".to_owned());
            return Err(RequestError::Ended(why));
        }
        let answer = timeout_at(until.into(), sent.answer()).await;
        answer.unwrap_or_else(|_| {
            self.notify("$/cancelRequest", &json!({"id": message["id"]}));
            Err(RequestError::Late)
        })
    }

    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The server's present task, if it reports that it is not done.
    pub(super) fn busy(&self) -> Option<String> {
        let state = self.state.lock();
        match (state.tasks.values().next(), state.quiescent) {
            (Some(task), _) => Some(task.clone()),
            (None, Some(false)) => Some(String::new()),
            (None, Some(true) | None) => None,
        }
    }

    /// Whether the server reports that it has seen the whole project.
    pub(super) fn says_done(&self) -> bool {
        self.state.lock().quiescent == Some(true)
    }

    /// The time of the last message about the server's state.
    pub(super) fn latest(&self) -> Instant {
        self.state.lock().latest
    }

    pub(super) fn ended(&self) -> Option<String> {
        self.peer.ended()
    }

    pub(super) fn published(&self, path: &std::path::Path) -> Option<PublishedDiagnostics> {
        self.state.lock().diagnostics.get(path).cloned()
    }

    pub(super) fn all_published(&self) -> Vec<(PathBuf, PublishedDiagnostics)> {
        let state = self.state.lock();
        state
            .diagnostics
            .iter()
            .map(|(path, published)| (path.clone(), published.clone()))
            .collect()
    }

    fn take(&self, message: JsonRpcMessage) {
        match message {
            JsonRpcMessage::Response { id, outcome } => self.peer.resolve(id, outcome),
            JsonRpcMessage::Request { id, method, params } => {
                let answer = match reply(&method, &params, &self.root) {
                    Some(result) => json_rpc::result(&id, &result),
                    None => json_rpc::refusal(&id, METHOD_NOT_FOUND, "not supported"),
                };
                _ = self.write(&answer); // the server may have ended
            }
            JsonRpcMessage::Notification { method, params } => {
                if self.state.lock().take(&method, &params) {
                    self.notify_watchers();
                }
            }
        }
    }

    fn notify_watchers(&self) {
        self.news.send_modify(|number| *number += 1);
    }
}

/// The response to a server's request; `None` if ralph does not support the method.
fn reply(method: &str, params: &Value, root: &std::path::Path) -> Option<Value> {
    match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().map_or(0, Vec::len).min(1000);
            Some(Value::Array(vec![Value::Null; items]))
        }
        "workspace/workspaceFolders" => Some(json!([{"uri": uri::from_path(root), "name": "project"}])),
        // Edits are made only when an agent asks for them, so a server's own edits are refused.
        "workspace/applyEdit" => Some(json!({"applied": false})),
        "window/showDocument" => Some(json!({"success": false})),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest"
        | "workspace/diagnostic/refresh"
        | "workspace/semanticTokens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/codeLens/refresh" => Some(Value::Null),
        _ => None,
    }
}

impl ServerState {
    /// Applies a notification. Returns whether it concerns the server's state.
    fn take(&mut self, method: &str, params: &Value) -> bool {
        match method {
            "textDocument/publishDiagnostics" => self.publish(params),
            "$/progress" => self.progress(params),
            "experimental/serverStatus" => self.quiescent = params["quiescent"].as_bool(),
            _ => return false,
        }
        self.latest = Instant::now();
        true
    }

    fn publish(&mut self, params: &Value) {
        let Some(path) = params["uri"].as_str().and_then(uri::to_path) else {
            return;
        };
        let number = self
            .diagnostics
            .values()
            .map(|published| published.number)
            .max()
            .unwrap_or(0)
            + 1;
        if self.diagnostics.len() >= FILES && !self.diagnostics.contains_key(&path) {
            self.diagnostics.retain(|_, published| !published.items.is_empty());
            if self.diagnostics.len() >= FILES {
                return;
            }
        }
        self.diagnostics.insert(
            path,
            PublishedDiagnostics::from_response(&params["diagnostics"], number),
        );
    }

    fn progress(&mut self, params: &Value) {
        let token = params["token"].to_string();
        let value = &params["value"];
        let words = [&value["title"], &value["message"]].map(|text| text.as_str().unwrap_or_default());
        match value["kind"].as_str() {
            Some("end") => _ = self.tasks.remove(&token),
            Some("begin") if self.tasks.len() < TASKS => {
                let text = words.join(" ");
                self.tasks.insert(token, task_text(text.trim()));
            }
            Some("report") => {
                let percentage = value["percentage"].as_u64().map(|percent| format!("{percent} %"));
                if let Some(task) = self.tasks.get_mut(&token)
                    && let Some(how_far) = percentage
                {
                    let title = task.split(" · ").next().unwrap_or_default();
                    *task = task_text(&format!("{title} · {how_far}"));
                }
            }
            Some(_) | None => {}
        }
    }
}

/// A server's description of a task, as one short line.
fn task_text(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(80)
        .collect()
}

/// Reads a server's output.
pub(super) struct ServerOutput {
    pub(super) link: std::sync::Arc<ServerLink>,
    pub(super) frames: Frames,
    /// Signalled when all processes of the server are gone.
    pub(super) gone: Option<oneshot::Sender<()>>,
}

impl OutputSink for ServerOutput {
    fn terminal(&mut self, bytes: &[u8]) {
        let mut state = self.link.state.lock();
        state.stderr.push_str(&String::from_utf8_lossy(bytes));
        let mut cut = state.stderr.len().saturating_sub(SAID_BYTES);
        while !state.stderr.is_char_boundary(cut) {
            cut += 1;
        }
        state.stderr.drain(..cut);
    }

    fn stdout(&mut self, bytes: &[u8]) {
        let link = &self.link;
        self.frames.feed(bytes, |message| {
            message.into_iter().for_each(|message| link.take(message))
        });
    }

    fn ended(&mut self, end: ChildEnd) {
        let mut state = self.link.state.lock();
        let why = why_it_ended(&end, &state.stderr);
        state.tasks.clear();
        drop(state);
        self.link.peer.end(&why);
        self.link.notify_watchers();
        if let Some(gone) = self.gone.take() {
            _ = gone.send(()); // the receiver may have been dropped
        }
    }
}

/// How the server ended, with the last line of its stderr.
fn why_it_ended(end: &ChildEnd, stderr: &str) -> String {
    let last = clip(&one_line(&last_line(stderr.as_bytes())), 300);
    let how = match end {
        ChildEnd::Exited(Exit::Code { code }) => format!("exit code {code}"),
        ChildEnd::Exited(Exit::Signal { signal }) => format!("signal {signal}"),
        ChildEnd::NotStarted { why, .. } => why.clone(),
        ChildEnd::Exceeded(_) => "it used more memory or processes than it may".to_owned(),
        ChildEnd::GuardLost => "its guard was killed".to_owned(),
    };
    if last.is_empty() { how } else { format!("{how}: {last}") }
}
