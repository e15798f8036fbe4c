//! The tools that ralph gives agents: its own agent, language servers and an MCP server.

#![deny(unreachable_pub)]

mod arguments;
pub mod json_rpc;
pub mod language;
pub mod mcp;
#[cfg(feature = "native")]
pub mod native;
