//! JSON-RPC 2.0 in lines, as the protocols of agents and of their tools have it: read with tolerance, written to the letter.

mod lines;
mod message;

pub use lines::{Line, read};
pub use message::{METHOD_NOT_FOUND, Message, refusal, request, result};
