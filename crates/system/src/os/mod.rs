//! The machine that ralph runs on: disks, file watches, signals.

pub mod disk;
pub mod signals;
pub mod watch;
