//! Log of requests and their outcomes, with waiting for entries.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

/// A request as the agent made it.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Counts all requests of the server, from 1.
    pub number: usize,
    pub kind: RequestKind,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Null if there was no body or it was not JSON.
    pub body: Value,
    /// Names of the tools the agent offers.
    pub tools: Vec<String>,
    /// The user's messages, oldest first; agents add their own context to them.
    pub user_texts: Vec<String>,
    /// Results of tool calls, oldest first.
    pub tool_results: Vec<String>,
}

impl ModelRequest {
    /// The user's last message: in a session's first request, the prompt. Some agents send messages of their own after it,
    /// in a tag; a prompt in a file is in a tag, too.
    pub fn prompt(&self) -> &str {
        let of_user = |text: &&String| {
            text.starts_with("<file_content ") || !(text.trim().starts_with('<') && text.trim().ends_with('>'))
        };
        self.user_texts.iter().rfind(of_user).map_or("", String::as_str)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

/// The role of a request in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A request that offers tools: it takes a step.
    Main,
    /// A request for a title or a summary, which is answered separately.
    Side,
    /// Any other request, which no model answers.
    Other,
}

/// A request and its outcome.
#[derive(Debug, Clone)]
pub struct ModelExchange {
    pub request: ModelRequest,
    /// Index of the step that answers it; `None` unless it is a main request.
    pub step: Option<usize>,
    /// `None` while it is being answered.
    pub outcome: Option<ExchangeOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeOutcome {
    Answered,
    /// The scenario closed the connection.
    Cut,
    /// The client did not wait for the end.
    ClientGone,
}

/// All exchanges of a server, oldest first.
#[derive(Default)]
pub(super) struct ExchangeLog {
    exchanges: Mutex<Vec<ModelExchange>>,
    changed: Condvar,
}

impl ExchangeLog {
    /// Adds an exchange; the log assigns the `number` of the request.
    pub(super) fn begin(&self, mut request: ModelRequest, step: Option<usize>) -> ModelRequest {
        let mut exchanges = self.exchanges.lock();
        request.number = exchanges.len() + 1;
        exchanges.push(ModelExchange {
            request: request.clone(),
            step,
            outcome: None,
        });
        self.changed.notify_all();
        request
    }

    pub(super) fn end(&self, number: usize, outcome: ExchangeOutcome) {
        self.exchanges.lock()[number - 1].outcome = Some(outcome);
        self.changed.notify_all();
    }

    pub(super) fn all(&self) -> Vec<ModelExchange> {
        self.exchanges.lock().clone()
    }

    pub(super) fn count(&self, counts: impl Fn(&ModelRequest) -> bool) -> usize {
        self.exchanges
            .lock()
            .iter()
            .filter(|exchange| counts(&exchange.request))
            .count()
    }

    /// Waits until `found` returns a value; `None` once the deadline has passed.
    pub(super) fn wait<T>(&self, deadline: Duration, found: impl Fn(&[ModelExchange]) -> Option<T>) -> Option<T> {
        let end = Instant::now() + deadline;
        let mut exchanges = self.exchanges.lock();
        loop {
            if let Some(value) = found(&exchanges) {
                return Some(value);
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.changed.wait_for(&mut exchanges, left);
        }
    }
}
