//! The limits of each tree of processes.

use ralph_core::event::{Limits, MemoryLimit};
use ralph_system::{os::memory, proc::TreeLimits};

/// Returns the limits of each tree of processes on this machine.
pub(super) fn tree_limits(limits: &Limits) -> TreeLimits {
    let in_bytes = |limit| match limit {
        MemoryLimit::Bytes(bytes) => Some(bytes),
        MemoryLimit::Percent(percent) => Some(memory::total_bytes()? / 100 * u64::from(percent)),
    };
    TreeLimits {
        memory_bytes: limits.memory.and_then(in_bytes),
        processes: limits.processes,
    }
}
