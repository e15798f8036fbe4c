//! The connection of a screen in another process to its loop: the frames of `/stream` as they arrive, and requests in
//! order. Not for threads inside a runtime.

use std::{io, sync::Arc, time::Duration};

use reqwest::{Method, Response, Version, header::CONTENT_TYPE};
use tokio::{runtime::Runtime, sync::Notify, time::timeout};

use super::{
    Address, ControlError,
    client::{ControlClient, runtime},
    frames::{Frame, FrameDecoder, Hello},
};

/// Longest silence of a stream: a loop sends a keep-alive more often than this.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the beginning of an answer, or the answer to an order, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind of reader that a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPurpose {
    /// A screen: the loop stays while it is connected, and the agent waits for it.
    Screen,
    /// Text output: the agent waits for it, too, but the loop does not stay after the end.
    Text,
    /// A reader that waits for the end: it only needs records.
    Records,
}

/// The frames of a run.
#[derive(Debug)]
pub struct FrameReader {
    runtime: Runtime,
    body: Response,
    decoder: FrameDecoder,
    closed: Arc<Notify>,
}

impl FrameReader {
    /// Requests the events of the loop at `address` from now on, or from the record `from`.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] if no loop listens, the others if the answer is not a stream.
    pub fn open(address: &Address, purpose: StreamPurpose, from: Option<u64>) -> Result<Self, ControlError> {
        let mut query = match purpose {
            StreamPurpose::Screen => "screen=true&hold=true".to_owned(),
            StreamPurpose::Text => "hold=true".to_owned(),
            StreamPurpose::Records => "records=true".to_owned(),
        };
        if let Some(from) = from {
            query += &format!("&from={from}");
        }
        let client = ControlClient::for_address(address)?;
        let runtime = runtime().map_err(|error| client.no_answer(error))?;
        // A body in HTTP/1.0 ends with the connection and is not chunked, which saves a copy of the output.
        let request = client.request(Method::GET, &format!("/stream?{query}"));
        let opened = client.accepted(request.version(Version::HTTP_10), PATIENCE);
        let body = runtime.block_on(opened)?;
        Ok(Self {
            runtime,
            body,
            decoder: FrameDecoder::default(),
            closed: Arc::default(),
        })
    }

    /// Waits for the first frame, which identifies the run; `None` if another frame or an error comes.
    pub fn hello(&mut self) -> Option<Box<Hello>> {
        match self.next_frame() {
            Ok(Some(Frame::Hello(hello))) => Some(hello),
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits for the next frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// If the connection is lost, or the bytes are not a frame.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let frame = self.decoder.next_frame();
            if let Some(frame) = frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
                return Ok(Some(frame));
            }
            let (body, closed) = (&mut self.body, &self.closed);
            let arrived = async {
                tokio::select! {
                    piece = timeout(SILENCE, body.chunk()) => piece?.map_err(io::Error::other),
                    () = closed.notified() => Ok(None),
                }
            };
            match self.runtime.block_on(arrived)? {
                Some(bytes) => self.decoder.push(&bytes),
                None => return Ok(None),
            }
        }
    }

    /// Returns a handle that can end the stream from another thread.
    pub fn closer(&self) -> Closer {
        Closer(Arc::clone(&self.closed))
    }
}

/// Ends a stream when dropped, even while another thread reads it.
#[derive(Debug)]
pub struct Closer(Arc<Notify>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Fetches the body of the answer of a route, up to `cap_bytes`.
///
/// # Errors
/// As [`FrameReader::open`].
pub fn fetch(address: &Address, route: &str, cap_bytes: usize) -> Result<Vec<u8>, ControlError> {
    let client = ControlClient::for_address(address)?;
    let runtime = runtime().map_err(|error| client.no_answer(error))?;
    runtime.block_on(async {
        let mut body = client.accepted(client.request(Method::GET, route), PATIENCE).await?;
        let mut bytes = Vec::new();
        while bytes.len() < cap_bytes {
            let piece = timeout(PATIENCE, body.chunk()).await;
            let piece = piece.map_err(|_| client.no_answer(io::ErrorKind::TimedOut.into()))?;
            match piece.map_err(|error| client.no_answer(io::Error::other(error)))? {
                Some(piece) => bytes.extend_from_slice(&piece),
                None => break,
            }
        }
        bytes.truncate(cap_bytes);
        Ok(bytes)
    })
}

/// Sends requests to a loop one after the other, over one connection for as long as it lasts.
#[derive(Debug)]
pub struct Poster {
    runtime: Runtime,
    client: ControlClient,
}

impl Poster {
    /// Makes a sender of requests to the loop at `address`.
    ///
    /// # Errors
    /// [`ControlError::NoAnswer`] if the HTTP client cannot be built.
    pub fn new(address: &Address) -> Result<Self, ControlError> {
        let client = ControlClient::for_address(address)?;
        let runtime = runtime().map_err(|error| client.no_answer(error))?;
        Ok(Self { runtime, client })
    }

    /// Posts `body` and waits for the answer.
    ///
    /// # Errors
    /// As [`FrameReader::open`].
    pub fn post(&self, path: &str, content_type: &str, body: Vec<u8>) -> Result<(), ControlError> {
        let request = self.client.request(Method::POST, path);
        let request = request.header(CONTENT_TYPE, content_type).body(body);
        let posted = self.client.accepted(request, PATIENCE);
        self.runtime.block_on(posted).map(drop)
    }
}
