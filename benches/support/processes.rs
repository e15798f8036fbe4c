//! Process trees: who is in one, and when the last of it is gone.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::DEADLINE;

/// The grace of the benches' agents.
pub const GRACE: Duration = Duration::from_millis(200);

/// Returns everything below `root`.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children = list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
            for child in children {
                found.push(child);
                next.push(child);
            }
        }
    }
    found
}

/// Waits until `root` has so many descendants, and returns them once they are the same for a while.
pub fn wait_for_descendants(root: u32, count: usize) -> Vec<u32> {
    let deadline = Instant::now() + DEADLINE;
    let mut before = Vec::new();
    loop {
        let mut found = descendants(root);
        found.sort_unstable();
        if found.len() == count && found == before {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:?} instead of {count} processes");
        before = found;
        // Nothing tells when a process that is not a child has been started.
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes that are watched for their ends.
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
            let timeout = PollTimeout::try_from(DEADLINE).expect("a deadline that poll can take");
            let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, timeout), Ok(1), "a process that does not end");
        }
    }
}
