//! ralph's side: starts the guard of its helpers with the first helper, and gives it orders.
//!
//! One message with six descriptors announces a helper: a control socket for this helper alone, its three files, and
//! the other ends of the last two, which the guard keeps so that a helper can still write when ralph has died. ralph
//! writes the order into the control socket, the guard writes how the helper ended. The guard ends the helper as soon
//! as ralph closes the socket for writing.

use std::{
    fs::File,
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    net::Shutdown,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::Pid,
};
use parking_lot::Mutex;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};

use super::{
    order::{HelperError, HelperProcess, HelperSpec},
    wire::{self, HelperEnd},
};
use crate::proc::{leftovers::StartedChildren, system};

/// How many descriptors announce a helper.
pub(super) const PASSED: usize = 6;
/// How long the guard may take to end everything before it counts as broken.
const PATIENCE: Duration = Duration::from_secs(6);

/// The state of this process's guard of helpers.
#[derive(Debug)]
enum GuardState {
    /// This executable may not be ralph: helpers are children of this process.
    NotAllowed,
    NotStarted,
    Running(RunningGuard),
    /// This process is leaving: no more helpers are started.
    Closed,
}

/// The state that all helpers of this process share.
#[derive(Debug)]
pub(in crate::proc) struct Helpers {
    children: Arc<StartedChildren>,
    state: Mutex<GuardState>,
    /// Guards that each have a helper that cannot be killed; their other helpers go on below them.
    left: Mutex<Vec<RunningGuard>>,
    /// Files that every guard keeps open. Locked after the state.
    kept: Mutex<Vec<Weak<File>>>,
}

#[derive(Debug)]
struct RunningGuard {
    socket: OwnedFd,
    child: Child,
}

impl Helpers {
    /// Makes helpers of a program that is not ralph: children of this process.
    pub(in crate::proc) fn without_guard(children: Arc<StartedChildren>) -> Arc<Self> {
        Self::starting(GuardState::NotAllowed, children)
    }

    /// Makes helpers below a guard, which is this executable and is started with the first one.
    pub(in crate::proc) fn below_a_guard(children: Arc<StartedChildren>) -> Arc<Self> {
        Self::starting(GuardState::NotStarted, children)
    }

    fn starting(state: GuardState, children: Arc<StartedChildren>) -> Arc<Self> {
        Arc::new(Self {
            children,
            state: Mutex::new(state),
            left: Mutex::default(),
            kept: Mutex::default(),
        })
    }

    pub(super) fn children(&self) -> &Arc<StartedChildren> {
        &self.children
    }

    /// Ends the guard and all helpers, and returns when that is done. No helper can be started from then on.
    pub(in crate::proc) fn close(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), GuardState::Closed);
        if let GuardState::Running(guard) = before {
            guard.end(&self.children);
        }
        for guard in std::mem::take(&mut *self.left.lock()) {
            guard.end(&self.children);
        }
    }

    /// Makes the guard keep a file open until it has ended all helpers.
    pub(super) fn keep(&self, file: &Arc<File>) {
        let state = self.state.lock();
        let mut kept = self.kept.lock();
        kept.retain(|kept| kept.strong_count() > 0);
        kept.push(Arc::downgrade(file));
        if let GuardState::Running(guard) = &*state {
            guard.keep(file);
        }
    }

    fn start_guard(&self) -> io::Result<RunningGuard> {
        let guard = RunningGuard::start(&self.children)?;
        let kept = self.kept.lock();
        for file in kept.iter().filter_map(Weak::upgrade) {
            guard.keep(&file);
        }
        Ok(guard)
    }

    /// Gives the guard the order, the three files of the helper and the other ends of its outputs. `None` if no guard
    /// can be had.
    pub(super) fn submit(
        self: &Arc<Self>,
        order: &HelperSpec,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<Option<Box<dyn HelperProcess>>> {
        let order = wire::written(order)?;
        let mut state = self.state.lock();
        // Twice, because a guard may have been killed since it was last asked.
        for _ in 0..2 {
            match &mut *state {
                GuardState::NotAllowed => return Ok(None),
                GuardState::Closed => return Err(io::Error::other("ralph is leaving")),
                GuardState::NotStarted => match self.start_guard() {
                    Ok(guard) => *state = GuardState::Running(guard),
                    Err(_) => return Ok(None),
                },
                GuardState::Running(_) => {}
            }
            if let GuardState::Running(guard) = &*state
                && let Ok(control) = guard.take(&order, files)
            {
                return Ok(Some(Box::new(HelperHandle {
                    control,
                    guard: guard.pid(),
                    helpers: Arc::clone(self),
                })));
            }
            self.replace_lost(&mut state);
        }
        Ok(None)
    }

    /// Ends a guard that does not work, and what it has left behind. The next helper gets another guard.
    fn replace_lost(&self, state: &mut GuardState) {
        if let GuardState::Running(guard) = std::mem::replace(state, GuardState::NotStarted) {
            guard.end(&self.children);
        }
    }
}

impl RunningGuard {
    fn start(children: &StartedChildren) -> io::Result<RunningGuard> {
        // Before the guard starts: this process has to adopt the processes that a killed guard leaves behind.
        children.become_subreaper();
        let executable = system::OWN_EXECUTABLE.ok_or(io::ErrorKind::Unsupported)?;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let mut command = Command::new(executable);
        command
            .args(["__guard", "--helpers"])
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // So that a typed Ctrl-C leaves it alone.
            .process_group(0);
        // Locked until the child is inserted: a child that is missing there counts as an orphan.
        let mut started = children.started.lock();
        let child = command.spawn()?;
        started.insert(child.id().cast_signed());
        Ok(RunningGuard { socket, child })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Gives the guard an order. Returns the control socket of the helper.
    fn take(&self, order: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<UnixStream> {
        let (mut control, theirs) = UnixStream::pair()?;
        self.send(wire::HELPER, &[&[theirs.as_fd()], files].concat())?;
        // A guard that was stopped must not block ralph.
        control.set_write_timeout(Some(PATIENCE))?;
        control.write_all(order)?;
        control.set_nonblocking(true)?;
        Ok(control)
    }

    /// Whether the guard still takes orders. Sends an order without files, whose descriptors the guard only closes.
    fn answers(&self) -> bool {
        let Ok((control, theirs)) = UnixStream::pair() else {
            return false;
        };
        let is_sent = self.send(wire::HELPER, &[theirs.as_fd()]).is_ok();
        drop(theirs);
        is_sent && is_readable(&control, PATIENCE)
    }

    fn keep(&self, file: &File) {
        _ = self.send(wire::FILE, &[file.as_fd()]); // a guard that is gone has no helper left
    }

    fn send(&self, what: u8, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        debug_assert!(fits, "the space is for this many");
        sendmsg(
            &self.socket,
            &[IoSlice::new(&[what])],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// Ends the guard with all processes below it: closes its socket, and kills it if that does not help.
    fn end(self, children: &StartedChildren) {
        let pid = self.pid();
        let RunningGuard { socket, mut child } = self;
        drop(socket);
        if !system::pidfd(pid).is_some_and(|end| is_readable(&end, PATIENCE)) {
            _ = child.kill(); // it has ended meanwhile, or is stuck and ends now
        }
        let mut started = children.started.lock();
        _ = child.wait(); // its exit status is not used
        started.remove(&pid.as_raw());
        drop(started);
        children.end_orphans();
    }
}

/// ralph's handle of one helper below the guard.
struct HelperHandle {
    control: UnixStream,
    guard: Pid,
    helpers: Arc<Helpers>,
}

impl HelperHandle {
    /// Replaces the guard of this helper, which is gone or does not work.
    fn lose_guard(&self) {
        let mut state = self.helpers.state.lock();
        if matches!(&*state, GuardState::Running(guard) if guard.pid() == self.guard) {
            self.helpers.replace_lost(&mut state);
        }
    }

    /// Gives up the guard of a helper that does not end although the guard was told to end it: its disk may be gone.
    /// The next helper gets another guard. This one keeps running, since other helpers of it may be in the middle of a
    /// merge, unless the guard itself does not answer.
    fn leave_guard(&self) {
        let guard = {
            let mut state = self.helpers.state.lock();
            match std::mem::replace(&mut *state, GuardState::NotStarted) {
                GuardState::Running(guard) if guard.pid() == self.guard => guard,
                another => {
                    *state = another;
                    return;
                }
            }
        };
        match guard.answers() {
            true => self.helpers.left.lock().push(guard),
            false => guard.end(&self.helpers.children),
        }
    }
}

impl HelperProcess for HelperHandle {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.control.as_fd())
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, HelperError> {
        // Read whole or not at all: the guard writes it at once.
        let mut bytes = [0; HelperEnd::BYTES];
        let end: Option<HelperEnd> = match self.control.read(&mut bytes) {
            Ok(length) => serde_json::from_slice(&bytes[..length]).ok(),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Err(_) => None,
        };
        let Some(end) = end else {
            self.lose_guard();
            return Err(HelperError::GuardLost);
        };
        end.status().map(Some).map_err(HelperError::Start)
    }

    fn kill(&mut self) {
        // Closed for writing only: the guard can still report the end of the helper, and sees that ralph has not died.
        _ = self.control.shutdown(Shutdown::Write); // a guard that is gone has no helper left
        if !is_readable(&self.control, PATIENCE) {
            self.leave_guard();
        }
    }
}

/// Waits until `source` has bytes to read or is closed. False if `patience` runs out.
fn is_readable(source: &impl AsFd, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(source.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) if left.is_zero() => return false,
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::net::{RecvAncillaryBuffer, RecvFlags, recvmsg};

    use super::*;

    #[test]
    fn a_guard_that_answers_is_left_to_a_helper_that_does_not_end_and_the_next_helper_gets_another() {
        let helpers = Helpers::below_a_guard(Arc::default());
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        // Stands for the guard's process; the thread below reacts to an order without files as the guard does.
        let child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let guard = RunningGuard { socket, child };
        let pid = guard.pid();
        *helpers.state.lock() = GuardState::Running(guard);
        let answering = thread::spawn(move || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let received = recvmsg(
                &theirs,
                &mut [io::IoSliceMut::new(&mut byte)],
                &mut ancillary,
                RecvFlags::empty(),
            );
            assert_eq!(received.unwrap().bytes, 1);
            ancillary.drain().for_each(drop);
            theirs
        });
        let (control, _guards_end) = UnixStream::pair().unwrap();
        let ticket = HelperHandle {
            control,
            guard: pid,
            helpers: Arc::clone(&helpers),
        };
        ticket.leave_guard();
        let _orders = answering.join().unwrap();
        assert!(
            matches!(&*helpers.state.lock(), GuardState::NotStarted),
            "the next helper starts a guard"
        );
        assert_eq!(
            helpers.left.lock().iter().map(RunningGuard::pid).collect::<Vec<_>>(),
            [pid]
        );
        let mut left = helpers.left.lock().pop().unwrap();
        assert!(left.child.try_wait().unwrap().is_none(), "it was not ended");
        drop(left.child.stdin.take());
        left.child.wait().unwrap();
    }
}
