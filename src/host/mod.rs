//! The machine ralph runs on: state directory, journal, recordings, lock, git, disks, files that are watched, signals.

pub mod census;
pub mod control;
pub mod disk;
pub mod git;
pub mod journal;
pub mod lock;
pub mod paths;
pub mod prune;
pub mod recording;
pub mod signal_log;
pub mod signals;
pub mod watch;
