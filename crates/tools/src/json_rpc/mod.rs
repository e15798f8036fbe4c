//! Carries JSON-RPC messages: lines or frames of a stream, and requests that wait for their responses.

mod frames;
mod lines;
mod peer;
mod received;

pub(crate) use frames::{Frames, framed};
pub use lines::{InputLine, read};
pub(crate) use peer::{Peer, RequestError};
pub use received::{received, received_batch};
