//! The machine that ralph runs on: disks, clocks, file watches, signals.

pub mod disk;
pub mod memory;
pub mod signals;
pub mod watch;

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the wall clock in milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
