//! `ralph mcp`: ralph's own tools for an agent, as a server of the Model Context Protocol on stdin and stdout.
//!
//! The agent starts it, once for each session, and it knows nothing by itself: each call goes to the run over its socket, where the
//! agent's role is told by the process that has connected. So it needs no secret, and a call that comes too late does nothing.

mod protocol;
mod server;
mod tools;

pub use server::{LINE_CAP_BYTES, serve};
pub use tools::{LANGUAGE_TOOLS, RunTools, SYNTAX_TOOLS, is_own_tool};
