//! A model server on 127.0.0.1 that answers from a script, so that real agents work without a model.
//!
//! A request that offers tools is *main* and takes the scenario's next step; every other one (titles, summaries) is
//! *side* and takes none. Nothing ends by itself: a hanging answer lasts until the client disconnects or the server is
//! dropped. Dropping it joins every thread.

mod connection;
pub mod http;
pub mod log;
mod protocol;
pub mod scenario;
mod server;
mod strict;
#[cfg(test)]
mod tests;
mod tools;

pub use log::{ExchangeOutcome, RequestKind};
pub use scenario::{Gate, Scenario, Step, UNTIL_GO, answer, decide, drop_connection, http, say, shell, silence};
pub use server::StandIn;
