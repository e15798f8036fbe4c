//! What people see of a run: the screen ([`tui`]), the report, and the board of a batch.
//!
//! Nothing here reads a journal or talks to a loop: records come from an [`EventSource`](tui::EventSource), and orders
//! go to a [`LoopControl`](tui::LoopControl).

#![deny(unreachable_pub)]

pub mod board;
pub mod report;
pub mod tui;
