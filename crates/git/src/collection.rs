//! Makes checkpoints outlast a `git gc --prune=now`, which deletes objects that no reference leads to: those of a checkpoint, until
//! its reference is set, and for longer if git had listed the references before.
//!
//! git keeps a file `gc.pid` in the repository while it collects. Making and removing it changes the time of its directory, so
//! nothing was collected where that time is the same and the file is not there.

use std::{
    fs, thread,
    time::{Duration, Instant, SystemTime},
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};

use super::{GitError, Repository, layout::read_small};

/// How long the end of a collection is waited for. Most take seconds.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// When something was last made or removed in the directory that has `gc.pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(Option<SystemTime>);

impl Repository {
    /// Returns the mark that [`Repository::may_be_collected`] takes; to be called before objects are written.
    pub(super) fn collections(&self) -> Seen {
        let directory = fs::metadata(&self.layout.common_dir);
        Seen(directory.and_then(|directory| directory.modified()).ok())
    }

    /// Whether git may have collected objects since, or collects them now.
    pub(super) fn may_be_collected(&self, since: Seen) -> bool {
        self.collections() != since || self.collects()
    }

    /// Makes sure that all objects of a commit's tree are there, once a collection that goes on has ended.
    ///
    /// # Errors
    /// [`GitError::Refused`] names one that is gone.
    pub(super) fn outlast_collection(&self, commit: &str) -> Result<(), GitError> {
        let until = Instant::now() + PATIENCE;
        while self.collects() && Instant::now() < until {
            thread::sleep(PAUSE);
        }
        let all = ["rev-list", "--quiet", "--objects", "--no-walk", commit];
        self.git().args(all).run().map(drop)
    }

    /// Whether a process collects; one that was killed leaves the file behind.
    fn collects(&self) -> bool {
        let written = read_small(&self.layout.common_dir.join("gc.pid"));
        let pid = written.and_then(|text| String::from_utf8(text).ok()?.split_whitespace().next()?.parse().ok());
        pid.is_some_and(|pid| pid > 0 && kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH))
    }
}
