//! What comes of an answer, piece by piece, whichever API it has.

use serde_json::Value;

use crate::native::{
    failure::{Class, Failure},
    message::{Answer, Call, Thought, Tokens},
};

/// Most bytes of the arguments of one call that are kept; longer ones are refused when the tool would be used.
pub(in crate::native) const ARGUMENTS_CAP_BYTES: usize = 1 << 20;
/// Most bytes of what a model says in one answer, and of what it thinks.
const TEXT_CAP_BYTES: usize = 4 << 20;
/// Most calls in one answer.
const CALLS_CAP: usize = 128;

/// A piece of an answer, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) enum Piece {
    Text(String),
    Thought(String),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) struct Reply {
    pub(in crate::native) answer: Answer,
    pub(in crate::native) tokens: Tokens,
    pub(in crate::native) stop: Stop,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum Stop {
    /// It is done, or waits for tools.
    Done,
    /// The answer is as long as one may be.
    Length,
    /// It, or its server, refuses to go on.
    Refused,
}

/// An answer, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) answer: Answer,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<Stop>,
    /// What the pieces of calls are numbered by, in the order of the calls.
    pub(super) numbers: Vec<u64>,
    /// The stream has said its last word.
    pub(super) is_over: bool,
}

impl Partial {
    pub(super) fn say(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        if !text.is_empty() && self.answer.text.len() < TEXT_CAP_BYTES {
            self.answer.text.push_str(text);
            pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// Adds to the thought that is being thought.
    pub(super) fn think(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        if self.answer.thoughts.is_empty() {
            self.answer.thoughts.push(Thought::default());
        }
        if let Some(thought) = self
            .answer
            .thoughts
            .last_mut()
            .filter(|thought| thought.text.len() < TEXT_CAP_BYTES)
        {
            thought.text.push_str(text);
            pieces.push(Piece::Thought(text.to_owned()));
        }
    }

    /// The call of that number, begun if it is new; none if there are too many.
    pub(super) fn call(&mut self, number: u64) -> Option<&mut Call> {
        let at = match self.numbers.iter().position(|known| *known == number) {
            Some(at) => at,
            None if self.numbers.len() == CALLS_CAP => return None,
            None => {
                self.numbers.push(number);
                self.answer.calls.push(Call::default());
                self.numbers.len() - 1
            }
        };
        self.answer.calls.get_mut(at)
    }
}

/// Adds to the arguments of a call. What is too long is cut where it shows that it is.
pub(super) fn argue(call: &mut Call, piece: &str) {
    if call.arguments.len() <= ARGUMENTS_CAP_BYTES {
        call.arguments.push_str(piece);
    }
}

/// The arguments of a call as an object, which is what servers take back; an empty one in place of nonsense.
pub(super) fn arguments(call: &Call) -> Value {
    let read = serde_json::from_str(&call.arguments).ok();
    read.filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

pub(super) fn broken(what: &str) -> Failure {
    Failure::new(Class::Network, format!("connection error: {what}"))
}

pub(super) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}
