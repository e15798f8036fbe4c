//! The journal and the other files of a run, and how to reach the process that keeps them.

#![deny(unreachable_pub)]

pub mod control;
pub mod http_client;
pub mod store;

#[cfg(not(feature = "testing"))]
use ralph_core::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;
