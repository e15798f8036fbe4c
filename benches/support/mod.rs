//! What the benches have in common: a project to run ralph in, agents to be run by it, and rows to print.
//!
//! Every figure stands beside a reference that was measured in the same run: the machine may be slow or busy, and then
//! it is for both. A row that is over its budget says so; a bench only fails when something does not work at all.

// Each bench is a program of its own and uses its part of this.
#![allow(dead_code)]

pub mod agent;
pub mod numbers;
pub mod processes;
pub mod report;
pub mod scratch;
pub mod screen;
pub mod terminal;

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock in nanoseconds, which different processes can compare.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
