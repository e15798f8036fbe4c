//! The limits of each tree of processes, and the disks on which some space stays free.

use std::env;

use ralph_core::event::{Limits, SizeLimit};
use ralph_system::{
    os::{
        disk::{self, DiskFloor},
        memory,
    },
    paths::ProjectPaths,
    proc::TreeLimits,
};

/// Returns the limits of each tree of processes on this machine, of which `disks` have the floors.
pub(super) fn tree_limits(limits: &Limits, disks: &[DiskFloor]) -> TreeLimits {
    let in_bytes = |limit| match limit {
        SizeLimit::Bytes(bytes) => Some(bytes),
        SizeLimit::Percent(percent) => Some(memory::total_bytes()? / 100 * u64::from(percent)),
    };
    TreeLimits {
        memory_bytes: limits.memory.and_then(in_bytes),
        processes: limits.processes,
        // A process that started with enough space may use half of it, so that work is seldom lost.
        disks: disks.iter().map(DiskFloor::halved).collect(),
    }
}

/// Returns the disks of the project, of the state directory and for temporary files, each once, with the space that
/// stays free on them.
pub(super) fn disk_floors(limits: &Limits, paths: &ProjectPaths) -> Vec<DiskFloor> {
    let Some(limit) = limits.disk_free else {
        return Vec::new();
    };
    let temporary = env::temp_dir();
    disk::floors(&[paths.project(), paths.state(), &temporary], limit)
}
