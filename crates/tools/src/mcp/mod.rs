//! `ralph mcp`: ralph's own tools for an agent, as a server of the Model Context Protocol on stdin and stdout.
//!
//! The agent starts the server once for each session. It has no state: each call is sent to the run over its socket,
//! and the run identifies the agent by the connecting process. The server therefore needs no secret, and a call after
//! the end of the run has no effect.

mod server;
mod tools;

pub use server::{LINE_CAP_BYTES, serve};
pub use tools::{LANGUAGE_TOOLS, RunTools, SYNTAX_TOOLS, is_own_tool};
