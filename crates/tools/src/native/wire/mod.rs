//! The two APIs that models are reached by: a request becomes JSON, and the bytes of its answer become what the model says.
//!
//! Pure. A decoder takes bytes cut anywhere, and what it is fed may be anything: a server on somebody's desk, or a proxy.

mod anthropic;
mod chat;
mod reply;
mod sse;

use serde_json::Value;

use super::{failure::Failure, message::Request};

pub(super) use reply::{ARGUMENTS_CAP_BYTES, Piece, Reply, Stop};
use reply::{Partial, broken};
use sse::Events;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI's chat completions, which most servers have as well.
    Chat,
    /// Anthropic's messages.
    Anthropic,
}

impl Wire {
    /// Where requests are posted, below the base.
    pub(super) fn path(self) -> &'static str {
        match self {
            Wire::Chat => "/chat/completions",
            Wire::Anthropic => "/messages",
        }
    }

    /// The body of a request, whose answer is to be streamed.
    pub(super) fn body(self, request: Request<'_>) -> Value {
        match self {
            Wire::Chat => chat::body(request),
            Wire::Anthropic => anthropic::body(request),
        }
    }

    pub(super) fn decoder(self) -> Decoder {
        Decoder {
            wire: self,
            events: Events::default(),
            reply: Partial::default(),
        }
    }
}

/// Understands one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    wire: Wire,
    events: Events,
    reply: Partial,
}

impl Decoder {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// What the stream tells in place of an answer.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Piece>, Failure> {
        let events = self.events.feed(bytes);
        let events = events.map_err(|sse::TooLarge| broken("the server sends an event of more than 8 MiB"))?;
        let mut pieces = Vec::new();
        for event in events {
            self.take(&event, &mut pieces)?;
        }
        Ok(pieces)
    }

    /// Whether nothing follows that matters.
    pub(super) fn is_over(&self) -> bool {
        self.reply.is_over
    }

    /// The whole answer, now that the stream has ended.
    ///
    /// # Errors
    /// A [`Failure`] if it has ended too early.
    pub(super) fn end(mut self) -> Result<Reply, Failure> {
        if let Some(event) = self.events.end() {
            self.take(&event, &mut Vec::new())?;
        }
        let Partial {
            answer,
            tokens,
            stop,
            is_over,
            ..
        } = self.reply;
        // Some servers leave the reason out, and some the last event: one of them is there if the answer is whole.
        match stop {
            Some(stop) => Ok(Reply { answer, tokens, stop }),
            None if is_over => Ok(Reply {
                answer,
                tokens,
                stop: Stop::Done,
            }),
            None => Err(broken("the connection was closed in the middle of an answer")),
        }
    }

    fn take(&mut self, event: &str, pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        if self.reply.is_over {
            return Ok(());
        }
        if event.trim() == "[DONE]" {
            self.reply.is_over = true;
            return Ok(());
        }
        let Ok(event) = serde_json::from_str::<Value>(event) else {
            return Err(broken("the server sends an event that is no JSON"));
        };
        match self.wire {
            Wire::Chat => chat::take(&event, &mut self.reply, pieces),
            Wire::Anthropic => anthropic::take(&event, &mut self.reply, pieces),
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
