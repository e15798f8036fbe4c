//! A process as the system's table lists it, the same for all systems.

use std::time::Duration;

use nix::unistd::Pid;

/// One process, as the system's table had it when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: Pid,
    pub parent: Pid,
    pub group: Pid,
    pub session: Pid,
    /// The short name.
    pub name: String,
    /// Whether it has ended and waits to be reaped.
    pub ended: bool,
    /// Its own CPU time and that of the children it has waited for.
    pub cpu: Duration,
}
