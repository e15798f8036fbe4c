//! Messages for the running turn of codex. The outcome of each is reported exactly once.

use ralph_core::event::SteeringId;
use serde_json::json;

use super::Exchange;

#[derive(Debug, Default)]
pub(super) struct SteeringQueue {
    /// The prefix for message ids, so that they differ between sessions.
    seed: String,
    lines: u64,
    /// Messages that are not part of the conversation yet.
    waiting: Vec<WaitingMessage>,
}

#[derive(Debug)]
struct WaitingMessage {
    id: SteeringId,
    text: String,
    /// The number under which it was sent; `None` if it was not sent yet.
    line: Option<u64>,
}

impl SteeringQueue {
    pub(super) fn new(seed: &str) -> Self {
        Self {
            seed: seed.to_owned(),
            ..Self::default()
        }
    }

    /// Queues a message until there is a turn to send it to.
    pub(super) fn add(&mut self, id: SteeringId, text: String) {
        self.waiting.push(WaitingMessage { id, text, line: None });
    }

    /// Sends the messages that were not sent yet.
    pub(super) fn send(&mut self, thread: &str, turn: &str, exchange: &mut Exchange) {
        let Self { seed, lines, waiting } = self;
        for message in waiting.iter_mut().filter(|message| message.line.is_none()) {
            *lines += 1;
            message.line = Some(*lines);
            write(seed, *lines, &message.text, (thread, turn), exchange);
        }
    }

    /// Sends a message of ralph's own, whose outcome is not reported.
    pub(super) fn explain(&mut self, text: &str, thread: &str, turn: &str, exchange: &mut Exchange) {
        self.lines += 1;
        write(&self.seed, self.lines, text, (thread, turn), exchange);
    }

    /// Reports the message with id `name` as delivered.
    pub(super) fn taken(&mut self, name: &str, exchange: &mut Exchange) {
        let Self { seed, waiting, .. } = self;
        settle(waiting, |line| name_of(seed, line) == name, true, exchange);
    }

    /// Reports a message as not delivered because codex refused `request`: the turn has ended, or accepts no messages.
    pub(super) fn refused(&mut self, request: &str, exchange: &mut Exchange) {
        settle(&mut self.waiting, |line| request_of(line) == request, false, exchange);
    }

    /// Reports all remaining messages as not delivered.
    pub(super) fn give_up(&mut self, exchange: &mut Exchange) {
        for message in self.waiting.drain(..) {
            exchange.answer_message(message.id, false);
        }
    }
}

fn settle(waiting: &mut Vec<WaitingMessage>, is_it: impl Fn(u64) -> bool, taken: bool, exchange: &mut Exchange) {
    if let Some(at) = waiting.iter().position(|message| message.line.is_some_and(&is_it)) {
        exchange.answer_message(waiting.remove(at).id, taken);
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
