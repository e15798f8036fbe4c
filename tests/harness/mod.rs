//! What the integration tests stand on: a sandboxed project, running programs, real agents.

pub mod agent;
pub mod agents;
pub mod connect;
pub mod http;
pub mod in_process;
pub mod languages;
pub mod processes;
pub mod running;
pub mod sandbox;
pub mod scripted;
pub mod wait;

pub use agents::skipped;
pub use running::Program;
pub use sandbox::Sandbox;
pub use scripted::{Script, events};
pub use wait::{SOON, wait_until};
