//! Shared parts of the benches: a project to run ralph in, agents for it, and rows to print.
//!
//! Every figure has a reference that was measured in the same run, because a slow or busy machine affects both. A row
//! over its budget is marked; a bench fails only if something does not work at all.

// Each bench is a separate program and uses only a part of this.
#![allow(dead_code)]

pub mod agent;
pub mod numbers;
pub mod processes;
pub mod report;
pub mod scratch;
pub mod screen;
pub mod terminal;

use std::{
    env,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// Returns the wall clock in nanoseconds, which is comparable across processes.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the real ralph, or the one that `RALPH_BENCH_BINARY` names.
pub fn ralph() -> PathBuf {
    env::var_os("RALPH_BENCH_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_ralph").into(), Into::into)
}
