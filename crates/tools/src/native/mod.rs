//! ralph's own agent: a loop around a model's API, for machines without another agent and for self-hosted models.
//!
//! It runs like any other agent, as a separate process below the guard and in the sandbox. It speaks the Agent Client
//! Protocol, so approvals, messages, cost and recordings work as with any other agent that does. It knows about ralph
//! only what the protocol and the environment tell every agent.

mod agent;
mod api;
mod budget;
mod client;
mod compaction;
mod endpoint;
mod failure;
mod history;
mod message;
mod models;
mod repeats;
mod servers;
mod session;
mod system;
mod tools;
mod turn;
mod wire;

pub use agent::run;
pub use endpoint::lacks_tls;
