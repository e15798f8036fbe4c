//! The guard's side: `ralph __guard --helpers`, the parent of every helper and of all processes that helpers leave
//! behind.
//!
//! It takes orders from the socket that is its stdin, several at a time, and exits when that socket is closed, which is
//! how it learns that ralph has died. It keeps no state that must survive: every process that it does not remember
//! starting is ended.

use std::{
    collections::HashSet,
    env,
    io::{self, IoSliceMut, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{Signal, killpg},
        signalfd::SignalFd,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpid},
};
use rustix::{
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{WaitId, WaitIdOptions, waitid},
};

use super::{
    guarded::PASSED,
    order::HelperSpec,
    wire::{self, HelperEnd},
};
use crate::proc::{
    OnRefused,
    process::Process,
    program::{self, Execution, ProcessGroup},
    system::{self, GuardEvents},
    tree,
};

/// Exit code if the guard cannot do its work.
const BROKEN: u8 = 125;
/// How long to keep killing processes that do not die.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long helpers may go on once ralph has died, and how long they may clean up once they are told to end.
const GRACE: Duration = Duration::from_secs(1);
/// Interval between two looks: the end of a process that is not a child is not signalled.
const PAUSE_MS: u16 = 2;

/// Guards the helpers of the ralph at the other end of stdin, until that is closed. Returns the exit code.
///
/// Blocks signals in the calling thread, which must be the only one.
#[must_use]
pub fn guard() -> u8 {
    match HelperGuard::new() {
        Ok(mut guard) => {
            guard.serve();
            0
        }
        Err(_) => BROKEN,
    }
}

struct HelperGuard {
    here: Pid,
    orders: OwnedFd,
    signals: SignalFd,
    running: Vec<RunningHelper>,
    /// Lock files of the helpers' work. This process is the last to have them open, and exits when no helper is left.
    kept: Vec<OwnedFd>,
}

/// A helper that was started and not reaped yet: no other process can have its pid.
struct RunningHelper {
    pid: Pid,
    /// Receives how the helper ended; ralph closes it for writing when the helper is to be ended.
    control: UnixStream,
    /// Whether it has been ended already.
    given_up: bool,
    /// Readers of its output that stay open, so that writing does not kill the helper when ralph has died.
    _readers: [OwnedFd; 2],
}

/// The helpers' control sockets after a wait.
struct ControlStates {
    /// Helpers that ralph has given up, those with a fully closed control included.
    given_up: Vec<Pid>,
    /// Whether a control is fully closed, as all of them are once ralph has died.
    is_one_closed: bool,
}

/// A message from ralph.
enum GuardRequest {
    Nothing,
    Helper(Vec<OwnedFd>),
    File(Vec<OwnedFd>),
    Closed,
}

impl HelperGuard {
    fn new() -> io::Result<HelperGuard> {
        let signals = GuardEvents::block_signals()?;
        system::become_subreaper()?;
        system::name_guard();
        Ok(HelperGuard {
            here: getpid(),
            orders: io::stdin().as_fd().try_clone_to_owned()?,
            signals,
            running: Vec::new(),
            kept: Vec::new(),
        })
    }

    fn serve(&mut self) {
        loop {
            let controls = self.wait();
            // When ralph dies, its sockets close one after the other; only the closed socket of the orders proves its
            // death.
            let until = controls.is_one_closed.then(|| Instant::now() + GRACE);
            loop {
                match self.receive() {
                    GuardRequest::Nothing if until.is_none_or(|until| !self.is_told_by(until)) => break,
                    GuardRequest::Nothing => {}
                    GuardRequest::Helper(descriptors) => self.start(descriptors),
                    GuardRequest::File(descriptors) => self.kept.extend(descriptors),
                    GuardRequest::Closed => {
                        self.let_end();
                        return self.end_all();
                    }
                }
            }
            for pid in controls.given_up {
                self.kill_helper(pid);
            }
            self.finish_ended();
        }
    }

    /// Waits for something to do.
    fn wait(&mut self) -> ControlStates {
        let (waiting, controls): (Vec<Pid>, Vec<_>) = self
            .running
            .iter()
            .filter(|running| !running.given_up)
            .map(|running| (running.pid, PollFd::new(running.control.as_fd(), PollFlags::POLLIN)))
            .unzip();
        let mut watched = vec![
            PollFd::new(self.orders.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        let first = watched.len();
        watched.extend(controls);
        // An interrupted wait counts as one that ended early.
        _ = poll(&mut watched, PollTimeout::NONE);
        let told: Vec<_> = watched[first..]
            .iter()
            .map(|fd| fd.revents().unwrap_or(PollFlags::POLLHUP))
            .collect();
        let given_up = waiting.into_iter().zip(&told).filter(|(_, told)| !told.is_empty());
        let controls = ControlStates {
            given_up: given_up.map(|(pid, _)| pid).collect(),
            is_one_closed: told.iter().any(|told| told.contains(PollFlags::POLLHUP)),
        };
        drop(watched);
        self.take_signals();
        controls
    }

    /// Waits for an order from ralph or its death. Returns whether either came before `until`.
    fn is_told_by(&self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut watched = [PollFd::new(self.orders.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait is followed by another one.
        poll(&mut watched, timeout).map_or(true, |ready| ready > 0)
    }

    /// Discards the signals that have arrived: they only say that something may have happened.
    fn take_signals(&self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
    }

    fn receive(&self) -> GuardRequest {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        match recvmsg(&self.orders, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags) {
            Ok(message) if message.bytes > 0 => {
                let messages = ancillary.drain().filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                    _ => None,
                });
                let descriptors = messages.flatten().collect();
                match byte {
                    [wire::FILE] => GuardRequest::File(descriptors),
                    _ => GuardRequest::Helper(descriptors),
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => GuardRequest::Nothing,
            Ok(_) | Err(_) => GuardRequest::Closed,
        }
    }

    fn start(&mut self, descriptors: Vec<OwnedFd>) {
        let Ok([control, stdin, stdout, stderr, stdout_reader, stderr_reader]) =
            <[OwnedFd; PASSED]>::try_from(descriptors)
        else {
            // The descriptors could not be received: ralph sees the other end closed.
            return;
        };
        let mut control = UnixStream::from(control);
        let order = wire::read_order(&control);
        match order.and_then(|order| execute(order, [&stdin, &stdout, &stderr])) {
            Ok(pid) => self.running.push(RunningHelper {
                pid,
                control,
                given_up: false,
                _readers: [stdout_reader, stderr_reader],
            }),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
                _ = control.write(&HelperEnd::NotStarted(errno).encode()); // fails if ralph has given it up
            }
        }
    }

    /// Reports every helper that has ended, once everything that it left behind has been ended, too.
    fn finish_ended(&mut self) {
        let mut at = 0;
        while at < self.running.len() {
            match helper_end(self.running[at].pid) {
                Some(ended) => {
                    let running = self.running.swap_remove(at);
                    self.finish(running, ended);
                }
                None => at += 1,
            }
        }
    }

    fn finish(&self, mut running: RunningHelper, ended: HelperEnd) {
        // Usually its process group is empty by now.
        _ = killpg(running.pid, Signal::SIGKILL);
        self.end_orphans(running.pid);
        _ = waitpid(running.pid, None); // it has ended
        _ = running.control.write(&ended.encode()); // fails if ralph has given it up
    }

    /// Ends the orphans: children of the guard that it did not start, and everything below them.
    ///
    /// `ended` is a helper that is about to be reaped.
    fn end_orphans(&self, ended: Pid) {
        let until = Instant::now() + PATIENCE;
        loop {
            let orphans = self.orphans(ended);
            for orphan in orphans.iter().filter(|orphan| orphan.ended) {
                _ = waitpid(orphan.pid, Some(WaitPidFlag::WNOHANG));
            }
            if orphans.is_empty() || Instant::now() >= until {
                return;
            }
            kill_families(&orphans);
            self.pause();
        }
    }

    /// Returns the children that the guard did not start and that are outside the process groups of running helpers.
    ///
    /// A child in such a group may belong to that helper, and is ended with it.
    fn orphans(&self, ended: Pid) -> Vec<Process> {
        let helpers: HashSet<Pid> = self.running.iter().map(|running| running.pid).collect();
        let mut children = tree::children(self.here);
        children.retain(|child| {
            child.pid != ended && !helpers.contains(&child.pid) && (child.ended || !helpers.contains(&child.group))
        });
        children
    }

    fn kill_helper(&mut self, pid: Pid) {
        let Some(running) = self.running.iter_mut().find(|running| running.pid == pid) else {
            return;
        };
        running.given_up = true;
        _ = killpg(pid, Signal::SIGKILL); // it may have ended meanwhile
        tree::kill_all(|| tree::descendants(pid));
        tree::signal_awake(pid, Signal::SIGKILL);
    }

    /// Waits for the helpers to end, then terminates the rest: a git that is killed leaves its locks in the way of
    /// every other git, and one that is terminated may leave the lock that it was just making.
    fn let_end(&self) {
        if self.have_ended(GRACE) {
            return;
        }
        for running in &self.running {
            _ = killpg(running.pid, Signal::SIGTERM); // it may have ended meanwhile
        }
        self.have_ended(GRACE);
    }

    /// Whether all helpers have ended within `patience`.
    fn have_ended(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.running.iter().any(|running| helper_end(running.pid).is_none()) {
            if Instant::now() >= until {
                return false;
            }
            self.pause();
        }
        true
    }

    /// Ends everything below the guard, and returns when it is gone or when patience has run out.
    fn end_all(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            for running in &self.running {
                // Without a readable list of processes, only the groups are known.
                _ = killpg(running.pid, Signal::SIGKILL);
            }
            tree::kill_all(|| tree::descendants(self.here));
            loop {
                match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                    Ok(WaitStatus::StillAlive) => break,
                    Err(Errno::ECHILD) => return,
                    Ok(_) | Err(_) => {}
                }
            }
            if Instant::now() >= until {
                return;
            }
            self.pause();
        }
    }

    /// Waits a moment, or until a child has ended.
    fn pause(&self) {
        let mut watched = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        _ = poll(&mut watched, PollTimeout::from(PAUSE_MS)); // an interrupted wait counts as one that ended early
        self.take_signals();
    }
}

fn kill_families(heads: &[Process]) {
    tree::kill_all(|| heads.iter().flat_map(|head| tree::descendants(head.pid)).collect());
    for head in heads.iter().filter(|head| !head.ended) {
        tree::signal_awake(head.pid, Signal::SIGKILL);
    }
}

fn execute(order: HelperSpec, stdio: [&OwnedFd; 3]) -> io::Result<Pid> {
    env::set_current_dir(&order.cwd)?;
    let execution = Execution {
        program: order.program,
        args: order.args,
        environment: order.environment,
        files: stdio
            .iter()
            .zip(0..)
            .map(|(file, number)| (file.as_raw_fd(), number))
            .collect(),
        group: ProcessGroup::Own,
    };
    let start = || match &order.confinement {
        Some(confinement) => {
            let execute = || program::execute(execution);
            system::start_confined(confinement, getpid(), OnRefused::ignored(), execute)?
        }
        None => program::execute(execution),
    };
    let pid = match order.memory_bytes {
        Some(bytes) => system::with_memory_limit(bytes, start),
        None => start(),
    };
    // So that the guard does not keep the directory from being removed or unmounted.
    _ = env::set_current_dir("/");
    pid
}

/// Returns how a child has ended, or `None` if it runs. Leaves it to be reaped.
fn helper_end(pid: Pid) -> Option<HelperEnd> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw())?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => HelperEnd::Code(code),
            (None, signal) => HelperEnd::Signal(signal.unwrap_or(0)),
        }),
        Ok(None) | Err(_) => None,
    }
}
