//! Limits on what a tree of processes uses together, and floors of the disks that it writes to. Its guard looks at the
//! tree, the more often the nearer it is to a limit, so that a runaway ends before the kernel has to choose a victim on
//! the whole machine, and before records cannot be written.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use nix::unistd::Pid;
use ralph_core::event::{Ceiling, ExceededCeiling, ProcessUse};
use serde::{Deserialize, Serialize};

use super::{process::Process, system, tree};
use crate::os::disk::DiskFloor;

/// The shortest and the longest pause between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// How fast a tree is expected to take memory or space at most, in bytes per second.
const FASTEST: u64 = 4 << 30;
/// Processes that are named.
const NAMED: usize = 3;
/// Bytes from which on a process is named that has written them.
const NAMED_FROM: u64 = 1 << 20;

/// Limits of a tree of processes; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TreeLimits {
    pub memory_bytes: Option<u64>,
    pub processes: Option<u64>,
    /// Disks that the tree must not fill below their floors.
    pub disks: Vec<DiskFloor>,
}

impl TreeLimits {
    fn bound_processes(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some()
    }
}

/// Watches the tree below a guard.
pub(super) struct CeilingWatch {
    limits: TreeLimits,
    /// The time of the next look at the processes; `None` if they are not limited.
    processes_due: Option<Instant>,
    /// The time of the next look at the disks, which is much cheaper; `None` if they have no floors.
    disks_due: Option<Instant>,
}

impl CeilingWatch {
    pub(super) fn new(limits: TreeLimits) -> CeilingWatch {
        let first = Instant::now() + SHORTEST;
        CeilingWatch {
            processes_due: limits.bound_processes().then_some(first),
            disks_due: (!limits.disks.is_empty()).then_some(first),
            limits,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.processes_due.into_iter().chain(self.disks_due).min()
    }

    /// Looks at what is due. Returns the limit that the tree below `root` exceeds.
    pub(super) fn look(&mut self, root: Pid) -> Option<ExceededCeiling> {
        let now = Instant::now();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let are_processes_due = is_due(self.processes_due);
        // The disks are looked at beside the processes too, so that the guard of an idle tree wakes for both at once.
        let looks_at_disks = is_due(self.disks_due) || (are_processes_due && self.disks_due.is_some());
        if looks_at_disks && let Some(exceeded) = self.look_at_disks(root, now) {
            return Some(exceeded);
        }
        if !are_processes_due {
            return None;
        }
        self.look_at_processes(root, now)
    }

    /// Returns a disk below its floor, and what `program` and its processes have written: a tree may fill a disk between two
    /// looks and fail of that by itself. `guard` is their parent, to which the kernel adds what ended processes have written.
    pub(super) fn look_at_end(&self, guard: Pid, program: &Path) -> Option<ExceededCeiling> {
        let low = self.limits.disks.iter().find_map(DiskFloor::low)?;
        let bytes = system::written_bytes(guard).filter(|bytes| *bytes >= NAMED_FROM);
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let largest = bytes.into_iter().map(|bytes| ProcessUse {
            name: (&*name).into(),
            bytes,
        });
        Some(ExceededCeiling {
            ceiling: Ceiling::Disk { low },
            largest: largest.collect(),
        })
    }

    fn look_at_disks(&mut self, root: Pid, now: Instant) -> Option<ExceededCeiling> {
        if let Some(low) = self.limits.disks.iter().find_map(DiskFloor::low) {
            let mut exceeded = exceeded(Ceiling::Disk { low }, &tree::descendants(root), written);
            // Every process has written a little.
            exceeded.largest = exceeded
                .largest
                .iter()
                .filter(|process| process.bytes >= NAMED_FROM)
                .cloned()
                .collect();
            return Some(exceeded);
        }
        let left = self.limits.disks.iter().filter_map(DiskFloor::left_bytes).min();
        self.disks_due = Some(now + left.map_or(LONGEST, pause_until_used));
        None
    }

    fn look_at_processes(&mut self, root: Pid, now: Instant) -> Option<ExceededCeiling> {
        let processes = tree::descendants(root);
        let count = processes.len() as u64;
        if let Some(limit) = self.limits.processes.filter(|limit| count > *limit) {
            let ceiling = Ceiling::Processes { limit, count };
            return Some(exceeded(ceiling, &processes, resident));
        }
        let mut pause = LONGEST;
        if let Some(limit_bytes) = self.limits.memory_bytes {
            // Counts shared memory once for each process, and is fast.
            let mut used_bytes: u64 = processes.iter().map(resident).sum();
            if used_bytes > limit_bytes {
                used_bytes = processes.iter().map(proportional).sum();
            }
            if used_bytes > limit_bytes {
                let ceiling = Ceiling::Memory {
                    limit_bytes,
                    used_bytes,
                };
                return Some(exceeded(ceiling, &processes, proportional));
            }
            pause = pause_until_used(limit_bytes - used_bytes);
        }
        self.processes_due = Some(now + pause);
        None
    }
}

/// The time until a tree can have used `left_bytes`.
fn pause_until_used(left_bytes: u64) -> Duration {
    let pause = Duration::from_millis(left_bytes.saturating_mul(1000) / FASTEST);
    pause.clamp(SHORTEST, LONGEST)
}

fn exceeded(ceiling: Ceiling, processes: &[Process], measure: fn(&Process) -> u64) -> ExceededCeiling {
    let mut largest: Vec<(u64, &Process)> = processes.iter().map(|process| (measure(process), process)).collect();
    largest.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let largest = largest.into_iter().take(NAMED).map(|(bytes, process)| ProcessUse {
        name: (&process.name).into(),
        bytes,
    });
    ExceededCeiling {
        ceiling,
        largest: largest.collect(),
    }
}

/// The bytes that a process has written, to files and elsewhere.
fn written(process: &Process) -> u64 {
    system::written_bytes(process.pid).unwrap_or_default()
}

fn resident(process: &Process) -> u64 {
    system::resident_bytes(process.pid).unwrap_or_default()
}

/// The memory of a process, of shared memory only its part. Of a process that does not let it be read, the resident
/// memory.
fn proportional(process: &Process) -> u64 {
    system::proportional_bytes(process.pid).unwrap_or_else(|| resident(process))
}
