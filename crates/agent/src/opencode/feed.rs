//! The stream of events on one connection.

use std::{error::Error, pin::Pin};

use futures_util::{Stream, StreamExt};
use ralph_state::http_client::{SentEvent, events};
use reqwest::Response;

use super::wire::{self, ServerEvent};

/// The events of one connection, in order.
pub(super) struct Feed {
    events: Pin<Box<dyn Stream<Item = Result<SentEvent, String>> + Send>>,
}

impl Feed {
    pub(super) fn new(response: Response) -> Self {
        Self::from_bytes(
            response
                .bytes_stream()
                .map(|chunk| chunk.map_err(|error| error.without_url())),
        )
    }

    /// Reads events from a stream of bytes, cut at any position.
    pub(super) fn from_bytes<B, E>(bytes: impl Stream<Item = Result<B, E>> + Send + 'static) -> Self
    where
        B: AsRef<[u8]> + Send + 'static,
        E: Error + Send + 'static,
    {
        Self {
            events: Box::pin(events(bytes)),
        }
    }

    /// Waits for the next event; returns it with its length in bytes.
    ///
    /// # Errors
    /// The reason why no more events follow: the connection was closed, was silent for too long, or carries something
    /// else.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Result<(ServerEvent, usize), String> {
        loop {
            let data = match self.events.next().await {
                Some(event) => event?.data,
                None => return Err("the connection was closed".to_owned()),
            };
            // Data that is not an event is ignored.
            if let Some(event) = wire::event(&data) {
                return Ok((event, data.len()));
            }
        }
    }
}
