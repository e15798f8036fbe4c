//! JSON-RPC 2.0 in lines, as used by agents and MCP servers: tolerant in reading, strict in writing.

mod lines;
mod message;

pub use lines::{InputLine, read};
pub use message::{JsonRpcMessage, METHOD_NOT_FOUND, refusal, request, result};
