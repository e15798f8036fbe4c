//! pi in both directions: `pi --mode rpc`. Its events are those of `pi --mode json`.
//!
//! A message for the running turn is the command `steer`. pi queues it, and repeats it as a message of the user once it
//! is part of the conversation. pi settles when the queue is empty. A message that arrives later stays in the queue,
//! since `steer` begins no turn: what was not repeated until then was not taken.
//!
//! pi asks for no permissions. A question of one of its extensions is cancelled, as nobody answers it in the one-way
//! mode either.

use ralph_core::event::SteeringId;
use serde_json::{Value, json};

use super::{Exchange, Protocol, SessionCommand, SessionOpening};
use crate::dialect::{Finish, JsonLineParser, JsonTurn, PiTurn, UnknownReports, ZonedClock, array, text};

/// The requests of extensions that wait for an answer.
const QUESTIONS: [&str; 4] = ["confirm", "editor", "input", "select"];

/// The message that asks for the session's id.
fn get_state() -> Value {
    json!({"id": "state", "type": "get_state"})
}

#[derive(Debug, Default)]
pub(super) struct PiLive {
    objects: JsonLineParser,
    conversation: PiConversation,
}

#[derive(Debug, Default)]
struct PiConversation {
    turn: PiTurn,
    unknown: UnknownReports,
    /// Whether pi has repeated the prompt.
    is_prompted: bool,
    /// Messages that pi has not repeated yet, as they were sent.
    waiting: Vec<(SteeringId, String)>,
    /// The turn is over.
    closed: bool,
}

impl Protocol for PiLive {
    fn start(&mut self, opening: SessionOpening, exchange: &mut Exchange) {
        exchange.write(&get_state());
        exchange.write(&json!({"id": "prompt", "type": "prompt", "message": literal(opening.prompt)}));
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.feed(bytes, exchange, |event, exchange| {
            conversation.take(&Value::Object(event), clock, exchange);
        });
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        match command {
            SessionCommand::Steer { id, .. } if self.conversation.closed => exchange.answer_message(id, false),
            SessionCommand::Steer { id, text } => {
                let text = literal(text);
                exchange.write(&json!({"id": request_of(id), "type": "steer", "message": text}));
                self.conversation.waiting.push((id, text));
            }
            // pi asks nothing.
            SessionCommand::Answer { .. } => {}
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange) {
        let Self { objects, conversation } = self;
        objects.finish(exchange, |event, exchange| {
            conversation.take(&Value::Object(event), clock, exchange);
        });
        conversation.turn.finish(finish, clock, &mut exchange.signals);
    }
}

impl PiConversation {
    fn take(&mut self, event: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        match text(event, "/type") {
            "response" => self.answered(event, clock, exchange),
            "extension_ui_request" => self.asked(event, exchange),
            kind => {
                if kind == "message_start" && event["message"]["role"] == "user" {
                    self.repeated(&event["message"], exchange);
                }
                self.turn.take(event, clock, &mut exchange.signals);
                if kind == "agent_settled" {
                    self.close(exchange);
                }
            }
        }
    }

    fn answered(&mut self, response: &Value, clock: &ZonedClock, exchange: &mut Exchange) {
        match (text(response, "/command"), response["success"] == true) {
            ("get_state", true) => self.turn.set_session(&response["data"]["sessionId"]),
            ("prompt", false) if !self.closed => {
                self.turn.refuse(text(response, "/error"), clock);
                self.close(exchange);
            }
            ("steer", false) => {
                let request = text(response, "/id");
                if let Some(at) = self.waiting.iter().position(|(id, _)| request_of(*id) == request) {
                    exchange.answer_message(self.waiting.remove(at).0, false);
                }
            }
            _ => {}
        }
    }

    /// Takes a message of the user that is now part of the conversation.
    fn repeated(&mut self, message: &Value, exchange: &mut Exchange) {
        if !std::mem::replace(&mut self.is_prompted, true) {
            return;
        }
        let said: String = array(message, "/content").map(|part| text(part, "/text")).collect();
        if let Some(at) = self.waiting.iter().position(|(_, sent)| *sent == said) {
            exchange.answer_message(self.waiting.remove(at).0, true);
        }
    }

    fn asked(&mut self, request: &Value, exchange: &mut Exchange) {
        let method = text(request, "/method");
        if self.closed || !QUESTIONS.contains(&method) {
            return;
        }
        exchange.write(&json!({"type": "extension_ui_response", "id": request["id"], "cancelled": true}));
        let title = text(request, "/title");
        self.unknown.note(
            method,
            || format!("an extension of pi asks a question, which is cancelled: {title}"),
            &mut exchange.signals,
        );
    }

    /// Ends the turn. pi ends with its standard input.
    fn close(&mut self, exchange: &mut Exchange) {
        self.closed = true;
        for (id, _) in self.waiting.drain(..) {
            exchange.answer_message(id, false);
        }
        exchange.close = true;
    }
}

/// A text that pi does not take for one of its commands, skills or templates, which begin with a slash.
fn literal(text: String) -> String {
    if text.starts_with('/') {
        format!(" {text}")
    } else {
        text
    }
}

fn request_of(id: SteeringId) -> String {
    format!("steer/{}", id.0)
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
