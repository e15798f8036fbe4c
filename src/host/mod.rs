//! The machine ralph runs on: state directory, journal, recordings, lock, git, files that are watched.

pub mod control;
pub mod git;
pub mod journal;
pub mod lock;
pub mod paths;
pub mod recording;
pub mod watch;
