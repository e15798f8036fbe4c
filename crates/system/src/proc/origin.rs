//! Whether a process descends from one that ralph has started: an agent has the user's rights, and is not the user.
//!
//! On Linux a process cannot escape its descent: one that loses its parent becomes the child of its guard, or of this
//! process if the guard is gone. On other systems a session of its own and an ended parent hide it.

use std::{net::SocketAddr, os::fd::BorrowedFd};

use nix::{
    errno::Errno,
    sys::signal::kill,
    unistd::{Pid, getpid, getppid},
};

use super::{
    RUN_ID_VAR,
    holders::{ClientHolder, client_holder},
    leftovers::{self, StartedChildren},
    system,
};

/// How often to start again when a process on the way up ends during the walk.
const WALKS: u32 = 8;
/// Most parents followed. A real tree is never that deep; a process table that changes during the walk may seem so.
const DEPTH: u32 = 4_096;

/// The origin of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessOrigin {
    /// It was started by ralph, or by a process that ralph has started.
    Run,
    Elsewhere,
    /// It belongs to another user of this machine; only reported for a connection over TCP.
    OtherUser,
    /// It has ended, or is not visible from here.
    Unknown,
}

/// Returns the origin of the process that connected the other end of `socket`, which has the given `pid`.
pub(super) fn peer_origin(children: &StartedChildren, socket: BorrowedFd<'_>, pid: Option<i32>) -> ProcessOrigin {
    // A pid of 0 stands for a process outside this pid namespace.
    let Some(pid) = pid.filter(|pid| *pid > 0).map(Pid::from_raw) else {
        return ProcessOrigin::Unknown;
    };
    let origin = (0..WALKS)
        .find_map(|_| walk(children, pid))
        .unwrap_or(ProcessOrigin::Unknown);
    // Checked after the walk: if the process has ended, its pid may have been reused.
    if system::peer_has_ended(socket) {
        return ProcessOrigin::Unknown;
    }
    origin
}

/// Follows the parents of `pid`; `None` if one of them ends meanwhile.
fn walk(children: &StartedChildren, pid: Pid) -> Option<ProcessOrigin> {
    let here = getpid();
    if pid == here {
        return Some(ProcessOrigin::Elsewhere); // the screen of this process
    }
    let mut process = system::process(pid)?;
    for _ in 0..DEPTH {
        if children.started.lock().contains(&process.session.as_raw()) {
            return Some(ProcessOrigin::Run);
        }
        if process.parent == here {
            return Some(match children.is_inherited(&process) {
                true => ProcessOrigin::Elsewhere,
                false => ProcessOrigin::Run,
            });
        }
        if process.parent.as_raw() <= 1 {
            return Some(ProcessOrigin::Elsewhere);
        }
        process = system::process(process.parent)?;
    }
    Some(ProcessOrigin::Unknown)
}

/// Whether this process descends from one that a ralph has started, in any run.
///
/// Its environment may have been changed, and its parents may have ended, but there is a guard above it, or the ralph
/// that has adopted it.
pub fn is_below_a_run() -> bool {
    if std::env::var_os(RUN_ID_VAR).is_some() {
        return true;
    }
    has_run_above(getppid()) == Some(true)
}

/// The origin of the client of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOrigin {
    pub origin: ProcessOrigin,
    /// Whether the answer is final. Otherwise no process was found at the client's end, and one may be found later.
    pub is_settled: bool,
}

/// Returns the origin of the process that holds the client's end of a TCP connection. Another machine is elsewhere.
///
/// A hidden process is unknown, because every process of an agent can hide. An agent's connection through a process
/// that no ralph has started is not recognised.
pub fn origin_of_client(client: SocketAddr, server: SocketAddr) -> ClientOrigin {
    let (origin, is_settled) = match client_holder(client, server) {
        ClientHolder::Abroad => (ProcessOrigin::Elsewhere, true),
        ClientHolder::Held(holders) => return holders_origin(&holders),
        ClientHolder::OfAnotherUser => (ProcessOrigin::OtherUser, true),
        ClientHolder::Gone | ClientHolder::Unseen => (ProcessOrigin::Unknown, false),
    };
    ClientOrigin { origin, is_settled }
}

/// Returns whether the process that connected the other end of `socket`, with the given `pid`, comes from a run of any
/// ralph.
///
/// The process itself may be a ralph: the user's commands are. A process that has ended is unknown: a process that it has
/// started may hold the connection.
pub fn origin_of_peer(socket: BorrowedFd<'_>, pid: Option<i32>) -> ProcessOrigin {
    let Some(pid) = pid.filter(|pid| *pid > 0).map(Pid::from_raw) else {
        return ProcessOrigin::Unknown;
    };
    let above = system::process(pid).map(|process| has_run_above(process.parent));
    let origin = match above {
        Some(Some(true)) => ProcessOrigin::Run,
        Some(Some(false)) => ProcessOrigin::Elsewhere,
        Some(None) | None => ProcessOrigin::Unknown,
    };
    // Checked after the walk: if the process has ended, its pid may have been reused.
    match system::peer_has_ended(socket) {
        true => ProcessOrigin::Unknown,
        false => origin,
    }
}

fn holders_origin(holders: &[Pid]) -> ClientOrigin {
    let parents: Vec<Pid> = holders
        .iter()
        .filter_map(|pid| Some(system::process(*pid)?.parent))
        .collect();
    let above: Vec<Option<bool>> = parents.iter().map(|parent| has_run_above(*parent)).collect();
    let origin = if above.contains(&Some(true)) {
        ProcessOrigin::Run
    } else if parents.len() < holders.len() || above.contains(&None) {
        ProcessOrigin::Unknown // one of them has ended
    } else {
        ProcessOrigin::Elsewhere
    };
    ClientOrigin {
        origin,
        is_settled: origin != ProcessOrigin::Unknown,
    }
}

/// Whether `above`, or a process above it, is a ralph or a guard; `None` if processes on the way keep ending.
fn has_run_above(above: Pid) -> Option<bool> {
    (0..WALKS).find_map(|_| look_above(above))
}

/// Follows the parents of `above`; `None` if one of them has ended.
fn look_above(mut above: Pid) -> Option<bool> {
    for _ in 0..DEPTH {
        if above.as_raw() <= 1 {
            return Some(false);
        }
        if leftovers::is_guard(above) || system::runs_this_executable(above) {
            return Some(true);
        }
        match system::process(above) {
            Some(process) => above = process.parent,
            // `/proc` may hide processes of other users; such a process never belongs to a run.
            None if kill(above, None) == Err(Errno::EPERM) => return Some(false),
            None => return None,
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::os::{fd::AsFd, unix::net::UnixStream};

    use super::*;

    #[test]
    fn what_this_process_did_not_start_comes_from_elsewhere() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let children = StartedChildren::default();
        let parent = nix::unistd::getppid();
        assert_eq!(
            peer_origin(&children, ours.as_fd(), Some(parent.as_raw())),
            ProcessOrigin::Elsewhere
        );
        assert_eq!(peer_origin(&children, ours.as_fd(), None), ProcessOrigin::Unknown);
        assert_eq!(peer_origin(&children, ours.as_fd(), Some(0)), ProcessOrigin::Unknown);
    }

    #[test]
    fn a_peer_that_has_ended_is_unknown() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        child.wait().unwrap();
        assert_eq!(origin_of_peer(ours.as_fd(), Some(pid)), ProcessOrigin::Unknown);
        assert_eq!(origin_of_peer(ours.as_fd(), None), ProcessOrigin::Unknown);
        let init = origin_of_peer(ours.as_fd(), Some(1));
        assert_eq!(init, ProcessOrigin::Elsewhere);
    }
}
