//! The three APIs of models: encodes a request as JSON, and decodes the streamed response.
//!
//! Pure. A decoder takes bytes cut at any position. Its input is not trusted: it may come from a self-hosted server or
//! a proxy.

mod anthropic;
mod chat;
mod reply;
mod responses;

use ralph_state::http_client::{EventReader, EventTooLarge};
use serde_json::Value;

use super::{failure::ApiFailure, message::ModelRequest};

pub(super) use anthropic::USUAL_ANSWER;
pub(super) use reply::{ARGUMENTS_CAP_BYTES, AnswerPiece, AnswerStop, ModelReply};
use reply::{PartialReply, broken};

/// Most bytes of one event. Long arguments are spread over many events.
const EVENT_CAP_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI's Chat Completions, which most servers provide.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
}

impl Wire {
    /// The path of requests below the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Wire::Chat => "/chat/completions",
            Wire::Responses => "/responses",
            Wire::Anthropic => "/messages",
        }
    }

    /// The body of a request with a streamed response.
    pub(super) fn body(self, request: ModelRequest<'_>) -> Value {
        match self {
            Wire::Chat => chat::body(request),
            Wire::Responses => responses::body(request),
            Wire::Anthropic => anthropic::body(request),
        }
    }

    pub(super) fn decoder(self) -> ResponseDecoder {
        ResponseDecoder {
            wire: self,
            events: EventReader::new(EVENT_CAP_BYTES),
            reply: PartialReply::default(),
        }
    }
}

/// Decodes one response.
#[derive(Debug)]
pub(super) struct ResponseDecoder {
    wire: Wire,
    events: EventReader,
    reply: PartialReply,
}

impl ResponseDecoder {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// An error in the stream, or invalid data.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<AnswerPiece>, ApiFailure> {
        let events = self.events.feed(bytes);
        let events = events.map_err(|EventTooLarge { .. }| broken("the server sends an event of more than 8 MiB"))?;
        let mut pieces = Vec::new();
        for event in events {
            self.take(&event.data, &mut pieces)?;
        }
        Ok(pieces)
    }

    /// Whether the rest of the stream can be ignored.
    pub(super) fn is_over(&self) -> bool {
        self.reply.is_over
    }

    /// Returns the whole answer after the end of the stream.
    ///
    /// # Errors
    /// A [`ApiFailure`] if the stream has ended too early.
    pub(super) fn end(mut self) -> Result<ModelReply, ApiFailure> {
        if let Some(event) = self.events.end() {
            self.take(&event.data, &mut Vec::new())?;
        }
        let PartialReply {
            answer,
            tokens,
            stop,
            is_over,
            ..
        } = self.reply;
        // Some servers omit the reason, others the last event: a complete answer has at least one of them.
        match stop {
            Some(stop) => Ok(ModelReply { answer, tokens, stop }),
            None if is_over => Ok(ModelReply {
                answer,
                tokens,
                stop: AnswerStop::Done,
            }),
            None => Err(broken("the connection was closed in the middle of an answer")),
        }
    }

    fn take(&mut self, event: &str, pieces: &mut Vec<AnswerPiece>) -> Result<(), ApiFailure> {
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
            Wire::Responses => responses::take(&event, &mut self.reply, pieces),
            Wire::Anthropic => anthropic::take(&event, &mut self.reply, pieces),
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
