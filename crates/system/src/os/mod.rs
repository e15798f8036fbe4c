//! The machine ralph runs on: disks, files that are watched, signals.

pub mod disk;
pub mod signals;
pub mod watch;
