//! A process as the system shows it, whichever system it is.

use std::time::Duration;

use nix::unistd::Pid;

/// One process, as the system's table had it when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: Pid,
    pub parent: Pid,
    pub group: Pid,
    pub session: Pid,
    /// Its short name.
    pub name: String,
    /// It has ended and waits to be reaped.
    pub ended: bool,
    /// Its own time on the CPU and that of the children it has waited for.
    pub cpu: Duration,
}
