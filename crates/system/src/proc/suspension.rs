//! Suspends the processes of a tree between two uses of their program, and ends what the last use has left.
//!
//! The program stands still before its children are ended, so it starts no others meanwhile. It cannot reap them either:
//! one that has ended counts as gone.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::Signal,
    unistd::{Pid, getpgid},
};

use super::{
    LeftProcess,
    ending::LEFTOVER_GRACE,
    left::{self, ProgramPlace},
    process::Process,
    system, tree,
};

/// How long to keep killing processes that do not die.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// The processes of a tree at one moment.
///
/// Pids alone: a process that gets the pid of one that has ended since is taken for it, and stays until the tree ends.
#[derive(Debug, Clone, Default)]
pub struct TreeSnapshot(HashSet<Pid>);

impl TreeSnapshot {
    pub(super) fn below(root: Pid) -> TreeSnapshot {
        TreeSnapshot(alive(root).into_iter().map(|process| process.pid).collect())
    }
}

/// The reason why a tree was not suspended. Some of its processes may stand still; every signal that ends them wakes
/// them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSuspended {
    /// The tree has ended.
    Ended,
    /// It uses more memory than it may while it is suspended.
    TooLarge,
    /// A process survived SIGKILL.
    Survivor,
}

/// Suspends the processes below `root` that are in `kept`, and ends all others: terminate, and kill 300 ms later. Blocks
/// until then. Returns those that it has ended.
pub(super) fn suspend(root: Pid, kept: &TreeSnapshot, most_bytes: u64) -> Result<Vec<LeftProcess>, NotSuspended> {
    let mut remaining = alive(root);
    remaining.retain(|process| kept.0.contains(&process.pid));
    if remaining.is_empty() {
        return Err(NotSuspended::Ended);
    }
    let mut used_bytes = 0_u64;
    for process in remaining {
        tree::signal(process.pid, Signal::SIGSTOP);
        used_bytes = used_bytes.saturating_add(system::resident_bytes(process.pid).unwrap_or_default());
    }
    if used_bytes > most_bytes {
        return Err(NotSuspended::TooLarge);
    }
    let begun = Instant::now();
    let mut terminated = HashSet::new();
    let others = || -> Vec<Process> {
        let mut alive = alive(root);
        alive.retain(|process| !kept.0.contains(&process.pid));
        alive
    };
    let place = ProgramPlace {
        // The guard shares the program's group.
        group: getpgid(Some(root)).unwrap_or(root),
        input: None,
    };
    let ended = left::describe(&others(), place);
    loop {
        let left = others();
        let patience = begun.elapsed();
        if left.is_empty() {
            return Ok(ended);
        } else if patience > LEFTOVER_GRACE + PATIENCE {
            return Err(NotSuspended::Survivor);
        } else if patience > LEFTOVER_GRACE {
            tree::kill_all(others);
        } else {
            for process in left.iter().filter(|process| terminated.insert(process.pid)) {
                tree::signal_awake(process.pid, Signal::SIGTERM);
            }
        }
        // The end of a process that is not a child of ralph's is not signalled.
        thread::sleep(PAUSE);
    }
}

/// Wakes every process below `root`.
pub(super) fn resume(root: Pid) {
    for process in alive(root) {
        tree::signal(process.pid, Signal::SIGCONT);
    }
}

fn alive(root: Pid) -> Vec<Process> {
    let mut alive = tree::descendants(root);
    alive.retain(|process| !process.ended);
    alive
}
