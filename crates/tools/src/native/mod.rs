//! ralph's own agent: a loop around a model's API, for machines with no other agent and for models of one's own.
//!
//! It is run like any other agent, in a process of its own below the guard and within the sandbox, and speaks the Agent Client
//! Protocol, so that approvals, messages, cost and recordings are those of any agent with that protocol. It knows nothing of
//! ralph but what the protocol and the environment tell every agent.

mod agent;
mod api;
mod client;
mod endpoint;
mod failure;
mod history;
mod message;
mod repeats;
mod servers;
mod session;
mod system;
mod tools;
mod turn;
mod wire;

pub use agent::run;
pub use endpoint::lacks_tls;
