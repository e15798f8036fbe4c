//! An answer as it is assembled from pieces, independent of the API.

use serde_json::Value;

use crate::native::{
    failure::{ApiFailure, FailureClass},
    message::{ModelAnswer, ModelCall, Reasoning, TokenUsage},
};

/// Most bytes of a call's arguments that are kept. Longer ones are refused when the call is prepared.
pub(in crate::native) const ARGUMENTS_CAP_BYTES: usize = 1 << 20;
/// Most bytes of an answer's text, and of each of its thoughts.
const TEXT_CAP_BYTES: usize = 4 << 20;
/// Most calls in one answer.
const CALLS_CAP: usize = 128;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) enum AnswerPiece {
    Text(String),
    Thought(String),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) struct ModelReply {
    pub(in crate::native) answer: ModelAnswer,
    pub(in crate::native) tokens: TokenUsage,
    pub(in crate::native) stop: AnswerStop,
}

/// The reason why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum AnswerStop {
    /// The model is done, or waits for tools.
    Done,
    /// The answer has reached the length limit.
    Length,
    /// The model or its server refuses to continue.
    Refused,
}

/// An incomplete answer.
#[derive(Debug, Default)]
pub(super) struct PartialReply {
    pub(super) answer: ModelAnswer,
    pub(super) tokens: TokenUsage,
    pub(super) stop: Option<AnswerStop>,
    /// The numbers by which pieces refer to calls, in the order of the calls.
    pub(super) numbers: Vec<u64>,
    /// Whether the stream has announced its end.
    pub(super) is_over: bool,
}

impl PartialReply {
    pub(super) fn push_text(&mut self, text: &str, pieces: &mut Vec<AnswerPiece>) {
        if !text.is_empty() && self.answer.text.len() < TEXT_CAP_BYTES {
            self.answer.text.push_str(text);
            pieces.push(AnswerPiece::Text(text.to_owned()));
        }
    }

    /// Appends to the current thought.
    pub(super) fn push_thought(&mut self, text: &str, pieces: &mut Vec<AnswerPiece>) {
        if text.is_empty() {
            return;
        }
        if self.answer.thoughts.is_empty() {
            self.answer.thoughts.push(Reasoning::default());
        }
        if let Some(thought) = self
            .answer
            .thoughts
            .last_mut()
            .filter(|thought| thought.text.len() < TEXT_CAP_BYTES)
        {
            thought.text.push_str(text);
            pieces.push(AnswerPiece::Thought(text.to_owned()));
        }
    }

    /// The call with this number, added if it is new; `None` if there are too many.
    pub(super) fn call(&mut self, number: u64) -> Option<&mut ModelCall> {
        let at = match self.numbers.iter().position(|known| *known == number) {
            Some(at) => at,
            None if self.numbers.len() == CALLS_CAP => return None,
            None => {
                self.numbers.push(number);
                self.answer.calls.push(ModelCall::default());
                self.numbers.len() - 1
            }
        };
        self.answer.calls.get_mut(at)
    }
}

/// Appends to the arguments of a call. They stop growing beyond the limit, which is then detected by their length.
pub(super) fn push_arguments(call: &mut ModelCall, piece: &str) {
    if call.arguments.len() <= ARGUMENTS_CAP_BYTES {
        call.arguments.push_str(piece);
    }
}

/// The arguments of a call as an object, since servers accept nothing else; empty if they are invalid.
pub(super) fn arguments(call: &ModelCall) -> Value {
    let read = serde_json::from_str(&call.arguments).ok();
    read.filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

pub(super) fn broken(what: &str) -> ApiFailure {
    ApiFailure::new(FailureClass::Network, format!("connection error: {what}"))
}

pub(super) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}
