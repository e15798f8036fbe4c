//! The stream of events on one connection.

use std::{
    pin::Pin,
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::{Stream, StreamExt};
use reqwest::Response;

use super::wire::{self, ServerEvent};

/// Most bytes of one event; the parser buffers it up to its end.
const EVENT_CAP_BYTES: usize = 64 * 1024 * 1024;

/// The events of one connection, in order.
pub(super) struct Feed {
    events: Pin<Box<dyn Stream<Item = Result<String, String>> + Send>>,
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
        E: std::error::Error + Send + Sync + 'static,
    {
        let unfinished = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&unfinished);
        let bytes = bytes.map(move |chunk| match chunk {
            Ok(chunk) => {
                let before = counted.fetch_add(chunk.as_ref().len(), Ordering::Relaxed);
                match before > EVENT_CAP_BYTES {
                    true => Err(format!("an event of more than {EVENT_CAP_BYTES} bytes")),
                    false => Ok(chunk),
                }
            }
            Err(error) => Err(ralph_text::with_causes(&error)),
        });
        let events = bytes.eventsource().map(move |event| {
            unfinished.store(0, Ordering::Relaxed);
            match event {
                Ok(event) => Ok(event.data),
                Err(EventStreamError::Transport(why)) => Err(why),
                Err(error) => Err(error.to_string()),
            }
        });
        Self {
            events: Box::pin(events),
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
                Some(data) => data?,
                None => return Err("the connection was closed".to_owned()),
            };
            // Data that is not an event is ignored.
            if let Some(event) = wire::event(&data) {
                return Ok((event, data.len()));
            }
        }
    }
}
