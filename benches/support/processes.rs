//! Process trees: who is in one, and when the last of it is gone.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The grace of the benches' agents.
pub const GRACE: Duration = Duration::from_millis(200);

/// How long a tree may take to be there.
const START: Duration = Duration::from_secs(20);

/// Returns everything that runs below `root`.
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

/// Whether a process waits to be reaped, or is gone already.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name, which may hold anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

/// Waits until `root` has so many descendants, and returns them once they are the same for a while.
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
        // Nothing tells when a process that is not a child has been started.
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How long a process may take to end before it is taken for one that never does.
const END: Duration = Duration::from_secs(20);

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
            let timeout = PollTimeout::try_from(END).expect("a deadline that poll can take");
            let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, timeout), Ok(1), "a process that does not end");
        }
    }
}
