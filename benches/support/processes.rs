//! Process trees: their members, and the end of the last one.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The grace period of the benches' agents.
pub const GRACE: Duration = Duration::from_millis(200);

/// Time limit for a process tree to start.
const START: Duration = Duration::from_secs(20);

/// Returns all running descendants of `root`.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            next.extend(&children);
            found.extend(children);
        }
    }
    found.retain(|pid| !has_ended(*pid));
    found
}

/// Whether a process is a zombie or gone.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may hold any characters.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

/// Waits until `root` has `count` descendants that have stopped changing, and returns them.
pub fn wait_for_descendants(root: u32, count: usize) -> Vec<u32> {
    let deadline = Instant::now() + START;
    let mut before = Vec::new();
    loop {
        let mut found = descendants(root);
        found.sort_unstable();
        if found.len() == count && found == before {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:?} instead of {count} processes");
        before = found;
        // No event reports the start of a process that is not a child.
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Time limit for a process to end.
const END: Duration = Duration::from_secs(20);

/// Processes whose ends are awaited.
pub struct Watched(Vec<OwnedFd>);

impl Watched {
    pub fn new(pids: &[u32]) -> Watched {
        let open = |pid: &u32| {
            let pid = Pid::from_raw(pid.cast_signed()).expect("a pid above zero");
            pidfd_open(pid, PidfdFlags::empty()).expect("a process that runs")
        };
        Watched(pids.iter().map(open).collect())
    }

    /// Waits until all of them have ended.
    pub fn wait(self) {
        for process in &self.0 {
            let timeout = PollTimeout::try_from(END).expect("a deadline that poll can take");
            let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, timeout), Ok(1), "a process that does not end");
        }
    }
}
