//! JSON-RPC 2.0 in lines, as used by agents and MCP servers: tolerant in reading, strict in writing.

mod lines;
mod message;

pub use lines::{Line, read};
pub use message::{METHOD_NOT_FOUND, Message, refusal, request, result};
