//! Makes checkpoints survive a `git gc --prune=now`, which deletes unreachable objects. The objects of a checkpoint are
//! unreachable until its reference is set, and for longer if git had listed the references before.
//!
//! git keeps a file `gc.pid` in the repository while it collects. Making and removing it changes the directory's
//! modification time, so nothing was collected if that time is unchanged and the file is absent.

use std::{
    fs, thread,
    time::{Duration, Instant, SystemTime},
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};

use super::{GitError, Repository, layout::read_small};

/// Longest wait for the end of a collection. Most take seconds.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The modification time of the directory that has `gc.pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GcDirectoryTime(Option<SystemTime>);

impl Repository {
    /// Returns the mark for [`Repository::may_be_collected`]; call it before writing objects.
    pub(super) fn collections(&self) -> GcDirectoryTime {
        let directory = fs::metadata(&self.layout.common_dir);
        GcDirectoryTime(directory.and_then(|directory| directory.modified()).ok())
    }

    /// Whether git may have collected objects since the mark was taken, or is collecting now.
    pub(super) fn may_be_collected(&self, since: GcDirectoryTime) -> bool {
        self.collections() != since || self.collects()
    }

    /// Waits for the end of a collection and checks that all objects of a commit's tree exist.
    ///
    /// # Errors
    /// [`GitError::Refused`] names a missing object.
    pub(super) fn outlast_collection(&self, commit: &str) -> Result<(), GitError> {
        let until = Instant::now() + PATIENCE;
        while self.collects() && Instant::now() < until {
            thread::sleep(PAUSE);
        }
        let all = ["rev-list", "--quiet", "--objects", "--no-walk", commit];
        self.git().args(all).run().map(drop)
    }

    /// Whether a live process is collecting; a killed one leaves the file behind.
    fn collects(&self) -> bool {
        let written = read_small(&self.layout.common_dir.join("gc.pid"));
        let pid = written.and_then(|text| String::from_utf8(text).ok()?.split_whitespace().next()?.parse().ok());
        pid.is_some_and(|pid| pid > 0 && kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH))
    }
}
