//! Messages for the running turn of codex: what became of each is said exactly once.

use ralph_core::event::{AgentSignal, SteeringId};
use serde_json::json;

use super::Exchange;

#[derive(Debug, Default)]
pub(super) struct SteeringQueue {
    /// What the names of messages are made from, so that no two sessions have the same.
    seed: String,
    lines: u64,
    /// Messages that are not in the conversation yet.
    waiting: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    id: SteeringId,
    text: String,
    /// Which line it was sent as.
    line: Option<u64>,
}

impl SteeringQueue {
    pub(super) fn new(seed: &str) -> Self {
        Self {
            seed: seed.to_owned(),
            ..Self::default()
        }
    }

    /// Keeps a message until there is a turn to send it to.
    pub(super) fn add(&mut self, id: SteeringId, text: String) {
        self.waiting.push(Message { id, text, line: None });
    }

    /// Sends what was not sent yet.
    pub(super) fn send(&mut self, thread: &str, turn: &str, exchange: &mut Exchange) {
        let Self { seed, lines, waiting } = self;
        for message in waiting.iter_mut().filter(|message| message.line.is_none()) {
            *lines += 1;
            message.line = Some(*lines);
            write(seed, *lines, &message.text, (thread, turn), exchange);
        }
    }

    /// Sends a text that is ralph's own: nobody waits to hear what became of it.
    pub(super) fn explain(&mut self, text: &str, thread: &str, turn: &str, exchange: &mut Exchange) {
        self.lines += 1;
        write(&self.seed, self.lines, text, (thread, turn), exchange);
    }

    /// The message called `name` is in the conversation.
    pub(super) fn taken(&mut self, name: &str, out: &mut Vec<AgentSignal>) {
        let Self { seed, waiting, .. } = self;
        let sent = |line: u64| name_of(seed, line) == name;
        settle(waiting, sent, true, out);
    }

    /// codex refused the request called `request`: its turn has ended, or takes no messages.
    pub(super) fn refused(&mut self, request: &str, out: &mut Vec<AgentSignal>) {
        settle(&mut self.waiting, |line| request_of(line) == request, false, out);
    }

    /// No more of them can be taken.
    pub(super) fn give_up(&mut self, out: &mut Vec<AgentSignal>) {
        let left = self.waiting.drain(..);
        out.extend(left.map(|Message { id, .. }| AgentSignal::MessageAnswered {
            id,
            taken: false,
            text: None,
        }));
    }
}

fn settle(waiting: &mut Vec<Message>, is_it: impl Fn(u64) -> bool, taken: bool, out: &mut Vec<AgentSignal>) {
    if let Some(at) = waiting.iter().position(|message| message.line.is_some_and(&is_it)) {
        let Message { id, .. } = waiting.remove(at);
        out.push(AgentSignal::MessageAnswered { id, taken, text: None });
    }
}

fn write(seed: &str, line: u64, text: &str, (thread, turn): (&str, &str), exchange: &mut Exchange) {
    let params = json!({
        "threadId": thread,
        "expectedTurnId": turn,
        "input": [{"type": "text", "text": text}],
        "clientUserMessageId": name_of(seed, line),
    });
    exchange.write(&json!({"id": request_of(line), "method": "turn/steer", "params": params}));
}

fn name_of(seed: &str, line: u64) -> String {
    format!("{seed}/{line}")
}

fn request_of(line: u64) -> String {
    format!("steer/{line}")
}
