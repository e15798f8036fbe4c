//! JSON-RPC 2.0, as used by agents, MCP servers and language servers: tolerant in reading, strict in writing.

mod frames;
mod lines;
mod message;
mod peer;

pub(crate) use frames::{Frames, framed};
pub use lines::{InputLine, read};
pub(crate) use message::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, notification};
pub use message::{JsonRpcMessage, METHOD_NOT_FOUND, refusal, request, result};
pub(crate) use peer::{Peer, RequestError};
