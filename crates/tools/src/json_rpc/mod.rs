//! JSON-RPC 2.0, as used by agents, MCP servers and language servers: tolerant in reading, strict in writing.

mod frames;
mod lines;
mod message;
mod peer;

pub(crate) use frames::{Frames, framed};
pub use lines::{InputLine, read};
pub(crate) use message::PARSE_ERROR;
pub use message::{
    INVALID_PARAMS, INVALID_REQUEST, JsonRpcMessage, METHOD_NOT_FOUND, notification, refusal, request, result,
};
pub(crate) use peer::{Peer, RequestError};
