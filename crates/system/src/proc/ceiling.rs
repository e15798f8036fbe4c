//! Limits on what a tree of processes uses together. Its guard looks at the tree, the more often the nearer it is to a
//! limit, so that a runaway ends before the kernel has to choose a victim on the whole machine.

use std::time::{Duration, Instant};

use nix::unistd::Pid;
use ralph_core::event::{Ceiling, ExceededCeiling, ProcessMemory};
use serde::{Deserialize, Serialize};

use super::{process::Process, system, tree};

/// The shortest and the longest pause between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// How fast a tree is expected to take memory at most, in bytes per second.
const FASTEST: u64 = 4 << 30;
/// Processes that are named.
const NAMED: usize = 3;

/// Limits of a tree of processes; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TreeLimits {
    pub memory_bytes: Option<u64>,
    pub processes: Option<u64>,
}

/// Watches the tree below a guard.
pub(super) struct CeilingWatch {
    limits: TreeLimits,
    /// The time of the next look; `None` if nothing is limited.
    due: Option<Instant>,
}

impl CeilingWatch {
    pub(super) fn new(limits: TreeLimits) -> CeilingWatch {
        let due = (limits != TreeLimits::default()).then(|| Instant::now() + SHORTEST);
        CeilingWatch { limits, due }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Looks at the tree below `root` if that is due. Returns the limit that it exceeds.
    pub(super) fn look(&mut self, root: Pid) -> Option<ExceededCeiling> {
        let now = Instant::now();
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
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
            let left = limit_bytes - used_bytes;
            pause = Duration::from_millis(left.saturating_mul(1000) / FASTEST);
        }
        self.due = Some(now + pause.clamp(SHORTEST, LONGEST));
        None
    }
}

fn exceeded(ceiling: Ceiling, processes: &[Process], measure: fn(&Process) -> u64) -> ExceededCeiling {
    let mut largest: Vec<(u64, &Process)> = processes.iter().map(|process| (measure(process), process)).collect();
    largest.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let largest = largest.into_iter().take(NAMED).map(|(bytes, process)| ProcessMemory {
        name: (&process.name).into(),
        bytes,
    });
    ExceededCeiling {
        ceiling,
        largest: largest.collect(),
    }
}

fn resident(process: &Process) -> u64 {
    system::resident_bytes(process.pid).unwrap_or_default()
}

/// The memory of a process, of shared memory only its part. Of a process that does not let it be read, the resident
/// memory.
fn proportional(process: &Process) -> u64 {
    system::proportional_bytes(process.pid).unwrap_or_else(|| resident(process))
}
