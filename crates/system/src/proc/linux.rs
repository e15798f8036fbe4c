//! Linux features beyond POSIX: `/proc`, sub-reapers, signals and processes as descriptors.

use std::{
    fs::{self, File},
    io::{self, Seek, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::PathBuf,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        socket::{getsockopt, sockopt::PeerPidfd},
    },
    unistd::{Pid, getpid, getppid},
};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{PidfdFlags, Resource, Rlimit, getrlimit, pidfd_open, setrlimit},
};

pub(super) use super::confine::{confined, level as confinement_level, mediates, start_confined, try_out};
pub(super) use super::mounts::{leave_queues, mount};
use super::{
    StopSpeed,
    process::Process,
    signals::{GuardEvent, INPUT_ENDED, SIGNALS, STOP_GRACEFULLY, STOP_IMMEDIATELY},
};

/// `/proc` counts CPU time in hundredths of a second for every program; the kernel's own tick does not matter.
const TICK: Duration = Duration::from_millis(10);
/// How often to check whether ralph lives if no descriptor can tell (kernels before 5.3).
const PARENT_POLL: Duration = Duration::from_millis(100);

/// Whether a process that is a sub-reaper and has no children has no descendants either.
pub(super) const SUBREAPERS: bool = true;

/// The executable that is running, even if its file was replaced or deleted since.
pub(super) const OWN_EXECUTABLE: Option<&str> = Some("/proc/self/exe");

/// Makes this process the new parent of every descendant that loses its own.
pub(super) fn become_subreaper() -> Result<(), Errno> {
    prctl::set_child_subreaper(true)
}

/// Leaves descendants that lose their parent to the next process above that adopts them.
pub(super) fn stop_being_subreaper() -> Result<(), Errno> {
    prctl::set_child_subreaper(false)
}

pub(super) fn is_subreaper() -> bool {
    prctl::get_child_subreaper().unwrap_or(false)
}

/// Returns a descriptor that becomes readable when a child ends; `None` on kernels before 5.3.
pub(super) fn pidfd(child: Pid) -> Option<OwnedFd> {
    pidfd_open(rustix::process::Pid::from_raw(child.as_raw())?, PidfdFlags::empty()).ok()
}

/// Whether the process that connected the other end of `socket` has ended; false on kernels before 6.5.
pub(super) fn peer_has_ended(socket: BorrowedFd<'_>) -> bool {
    let Ok(peer) = getsockopt(&socket, PeerPidfd) else {
        return false;
    };
    let mut fds = [PollFd::new(peer.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(ended) if ended > 0)
}

/// Returns a file without a name that holds `bytes`, positioned at its beginning.
pub(super) fn anonymous_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = match memfd_create("ralph", MemfdFlags::CLOEXEC) {
        Ok(file) => File::from(file),
        // The kernel lacks memory files, or a policy forbids them.
        Err(_) => tempfile::tempfile()?,
    };
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Calls `start` with a limit on the memory that the started process, and each of its children, can allocate. Only for
/// a process without other threads: programs that they start meanwhile would be limited, too.
///
/// Files mapped for reading do not count, as they would with a limit on address space: git maps whole packs.
pub(super) fn with_memory_limit<T>(bytes: u64, start: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Data);
    let lowered = Rlimit {
        current: Some(before.current.map_or(bytes, |set| set.min(bytes))),
        maximum: before.maximum,
    };
    // Any process may lower and raise the limit again within the maximum.
    _ = setrlimit(Resource::Data, lowered);
    let started = start();
    _ = setrlimit(Resource::Data, before);
    started
}

/// Names the guard for `ps` and `top`, which would show `exe` otherwise.
pub(super) fn name_guard() {
    // Only a name: nothing depends on it.
    _ = prctl::set_name(c"ralph-guard");
}

pub(super) fn process(pid: Pid) -> Option<Process> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the memory of a process that is in RAM, with everything that it shares.
pub(super) fn resident_bytes(pid: Pid) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = counts.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Returns the memory of a process that is in RAM, of shared memory only its part; `None` if it may not be read.
pub(super) fn proportional_bytes(pid: Pid) -> Option<u64> {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// Returns the bytes that a process has passed to system calls that write; `None` if they may not be read.
pub(super) fn written_bytes(pid: Pid) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = counts.lines().find_map(|line| line.strip_prefix("wchar: "))?;
    line.parse().ok()
}

/// Has the kernel end a process and its later children rather than others if memory runs out.
pub(super) fn prefer_as_victim(pid: Pid) {
    // Every process may raise its own and its children's; a process that is gone needs nothing.
    _ = fs::write(format!("/proc/{pid}/oom_score_adj"), "500");
}

/// Has this thread, and what it starts, run where nothing else wants to. A niceness alone would not do: the kernel places
/// programs that start beside it as if the processor were taken.
pub(super) fn yield_to_others() {
    _ = ralph_seccomp::run_when_idle(); // a failure only leaves it more of the machine
}

/// Whether a process runs this executable, under any name.
pub(super) fn runs_this_executable(pid: Pid) -> bool {
    let identity = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let exe = identity(&format!("/proc/{pid}/exe"));
    exe.is_some() && exe == identity("/proc/self/exe")
}

/// Reads the whole process table.
pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| process(Pid::from_raw(pid))).collect()
}

/// Returns the children of every thread of `pid`; `None` if it is gone or the kernel keeps no such lists.
pub(super) fn children(pid: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    let mut lists = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Ok(list) = fs::read_to_string(thread.path().join("children")) else {
            continue;
        };
        lists += 1;
        children.extend(
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .map(Pid::from_raw),
        );
    }
    (lists > 0).then_some(children)
}

/// Returns the processes that were started with one of `marks`, in their environment: how a variable
/// begins, with a NUL after its whole value.
///
/// Processes of other users, and processes that have ended, are not found.
pub(super) fn carriers(all: &[Process], marks: &[Vec<u8>]) -> Vec<Pid> {
    let carries = |pid: Pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split_inclusive(|&byte| byte == 0)
            .any(|variable| marks.iter().any(|mark| variable.starts_with(mark)))
    };
    all.iter()
        .map(|process| process.pid)
        .filter(|&pid| carries(pid))
        .collect()
}

/// Returns the command line, arguments with a NUL after each.
pub(super) fn command_line(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Returns the working directory of a process; `None` if it may not be looked at.
pub(super) fn working_directory(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns device and inode of the pipe or socket that is a process's standard input; `None` if it is none, or may not be
/// looked at.
pub(super) fn piped_input(pid: Pid) -> Option<(u64, u64)> {
    let metadata = fs::metadata(format!("/proc/{pid}/fd/0")).ok()?;
    let kind = metadata.file_type();
    (kind.is_fifo() || kind.is_socket()).then(|| (metadata.dev(), metadata.ino()))
}

/// Reads `pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
/// cstime …`.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    // The name may hold spaces and parentheses of its own.
    let open = stat.iter().position(|&byte| byte == b'(')?;
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..open)?).ok()?.trim().parse().ok()?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let rest: Vec<&str> = std::str::from_utf8(stat.get(close + 1..)?)
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let number = |index: usize| rest.get(index)?.parse::<i32>().ok().map(Pid::from_raw);
    let ticks = (11..15)
        .filter_map(|index| rest.get(index)?.parse::<u32>().ok())
        .fold(0u32, u32::saturating_add);
    Some(Process {
        pid: Pid::from_raw(pid),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        name,
        ended: matches!(*rest.first()?, "Z" | "X" | "x"),
        cpu: TICK.saturating_mul(ticks),
    })
}

/// The guard's events: signals, its children, and ralph's death.
pub(super) struct GuardEvents {
    signals: SignalFd,
    ralph: Pid,
    /// `None` if the kernel has no such descriptors, and once ralph's death was reported.
    ralph_ends: Option<OwnedFd>,
    ralph_gone: bool,
}

impl GuardEvents {
    /// Blocks the guard's signals, to be read from here on.
    pub(super) fn block_signals() -> Result<SignalFd, Errno> {
        let signals: SigSet = SIGNALS.into_iter().collect();
        signals.thread_block()?;
        SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
    }

    /// Watches `ralph`, which should be the parent; if it no longer is, that is the first event.
    pub(super) fn new(signals: SignalFd, ralph: Pid) -> GuardEvents {
        let ralph_ends =
            rustix::process::Pid::from_raw(ralph.as_raw()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        GuardEvents {
            signals,
            ralph,
            ralph_ends,
            ralph_gone: false,
        }
    }

    /// Waits for the next event, at most until `deadline`.
    pub(super) fn next(&mut self, deadline: Option<Instant>) -> GuardEvent {
        loop {
            // Checked after the descriptor was opened: while ralph is the parent, the descriptor stands for ralph.
            if !self.ralph_gone && getppid() != self.ralph {
                self.ralph_gone = true;
                self.ralph_ends = None;
                return GuardEvent::RalphGone;
            }
            let mut child_ended = false;
            while let Ok(Some(signal)) = self.signals.read_signal() {
                match meaning(signal.ssi_signo, Pid::from_raw(signal.ssi_pid.cast_signed())) {
                    Some(GuardEvent::ChildEnded) => child_ended = true,
                    Some(event) => return event,
                    None => {}
                }
            }
            // Before the children: a tree in which processes end all the time must not hold up the ladder.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return GuardEvent::Due;
            }
            if child_ended {
                return GuardEvent::ChildEnded;
            }
            self.wait(deadline);
        }
    }

    fn wait(&self, deadline: Option<Instant>) {
        let mut left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if self.ralph_ends.is_none() && !self.ralph_gone {
            left = Some(left.map_or(PARENT_POLL, |left| left.min(PARENT_POLL)));
        }
        // Rounded up, so that the deadline has passed when poll returns.
        let timeout = left.map_or(PollTimeout::NONE, |left| {
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        fds.extend(
            self.ralph_ends
                .as_ref()
                .map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)),
        );
        // An interrupted wait counts as one that ended early: the caller checks everything again.
        _ = poll(&mut fds, timeout);
    }
}

fn meaning(signal: u32, sender: Pid) -> Option<GuardEvent> {
    let signal = i32::try_from(signal)
        .ok()
        .and_then(|signal| Signal::try_from(signal).ok())?;
    match signal {
        Signal::SIGCHLD => Some(GuardEvent::ChildEnded),
        // `kill 0`, with which shells clean up behind themselves, reaches the guard too and is not meant for it.
        _ if descends_from_here(sender) => None,
        Signal::SIGTERM | STOP_GRACEFULLY => Some(GuardEvent::Asked(StopSpeed::Graceful)),
        STOP_IMMEDIATELY => Some(GuardEvent::Asked(StopSpeed::Immediate)),
        INPUT_ENDED => Some(GuardEvent::InputEnded),
        // Typed, or a hang-up: meant for the program, which got it as well.
        _ => None,
    }
}

/// Whether a process, or the process of a thread, is this one or descends from it.
pub(super) fn descends_from_here(process_or_thread: Pid) -> bool {
    let here = getpid();
    let mut pid = process_or_thread;
    // Bounded, because the process table may change during the walk.
    for _ in 0..64 {
        if pid == here {
            return true;
        }
        match process(pid) {
            Some(process) if process.parent.as_raw() > 1 => pid = process.parent,
            Some(_) | None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_one_name() {
        let stat = b"12 (a) (b) S 3 4 5 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 99\n";
        let process = parse_stat(stat).unwrap();
        assert_eq!(process.name, "a) (b");
        assert_eq!((process.pid.as_raw(), process.parent.as_raw()), (12, 3));
        assert_eq!((process.group.as_raw(), process.session.as_raw()), (4, 5));
        assert_eq!(process.cpu, Duration::from_millis(1270));
        assert!(!process.ended);
    }

    #[test]
    fn a_cut_line_is_no_process() {
        let stat = b"12 (name) S 3 4 5 0";
        for length in 0..stat.len() - 2 {
            assert!(parse_stat(&stat[..length]).is_none_or(|process| process.pid == Pid::from_raw(12)));
        }
        assert!(parse_stat(b"12 (name) S 3").is_none());
    }

    #[test]
    fn this_process_is_in_its_own_table() {
        let here = process(getpid()).unwrap();
        assert_eq!(here.parent, getppid());
        assert!(processes().iter().any(|process| process.pid == here.pid));
    }
}
