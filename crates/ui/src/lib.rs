//! The views of runs for people: the screen ([`tui`]), the report, and the board of a batch.
//!
//! The crate reads no journal and knows no loop: records come from an [`EventSource`](tui::EventSource), and orders go to
//! a [`LoopControl`](tui::LoopControl).

#![deny(unreachable_pub)]

pub mod board;
pub mod report;
pub mod tui;

#[cfg(not(feature = "testing"))]
use ralph_core::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;
