//! The machine ralph runs on: disks, files that are watched, signals.

pub(crate) mod disk;
pub mod signals;
pub(crate) mod watch;
