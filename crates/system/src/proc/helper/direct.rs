//! A helper as a child of this process, in a process group of its own: used without a guard.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus},
    sync::Arc,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd,
};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::order::{HelperError, HelperProcess, HelperSpec};
use crate::proc::{OnRefused, leftovers::StartedChildren, system};

struct DirectHelper {
    children: Arc<StartedChildren>,
    child: Child,
    pid: Pid,
    ends_group: bool,
    /// Readable once the child has ended; `None` if the system has no such descriptors.
    end: Option<OwnedFd>,
}

/// Starts a helper. `ends_group` says whether processes that it leaves behind in its group are ended with it.
pub(super) fn start(
    children: &Arc<StartedChildren>,
    order: &HelperSpec,
    stdio: [OwnedFd; 3],
    ends_group: bool,
) -> io::Result<Box<dyn HelperProcess>> {
    let [stdin, stdout, stderr] = stdio;
    let mut command = Command::new(&order.program);
    command
        .args(&order.args)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        // So that a typed Ctrl-C leaves it alone, and what it starts can be ended with it.
        .process_group(0);
    // Locked until the child is inserted: a child that is missing there counts as an orphan.
    let mut started = children.started.lock();
    let child = match &order.confinement {
        Some(confinement) => {
            system::start_confined(confinement, unistd::getpid(), OnRefused::ignored(), || command.spawn())??
        }
        None => command.spawn()?,
    };
    let number = child.id().cast_signed();
    started.insert(number);
    drop(started);
    Ok(Box::new(DirectHelper {
        children: Arc::clone(children),
        child,
        pid: Pid::from_raw(number).expect("a started process has a pid above zero"),
        ends_group,
        end: system::pidfd(unistd::Pid::from_raw(number)),
    }))
}

impl DirectHelper {
    /// Whether the helper has ended. Leaves it unreaped, so that its pid cannot be reused yet.
    fn has_ended(&self, wait: WaitIdOptions) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | wait;
        loop {
            match waitid(WaitId::Pid(self.pid), options) {
                Err(rustix::io::Errno::INTR) => {}
                // An error means that another part of this process has reaped it, so it has ended.
                ended => return !matches!(ended, Ok(None)),
            }
        }
    }

    fn end_group(&self) {
        // Fails if the group is empty.
        _ = killpg(unistd::Pid::from_raw(self.pid.as_raw_nonzero().get()), Signal::SIGKILL);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let mut started = self.children.started.lock();
        let status = self.child.wait();
        started.remove(&self.pid.as_raw_nonzero().get());
        status
    }
}

impl HelperProcess for DirectHelper {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(AsFd::as_fd)
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, HelperError> {
        if !self.has_ended(WaitIdOptions::NOHANG) {
            return Ok(None);
        }
        if self.ends_group {
            self.end_group();
        }
        self.reap().map(Some).map_err(HelperError::Start)
    }

    fn kill(&mut self) {
        self.end_group();
        self.has_ended(WaitIdOptions::empty());
        _ = self.reap(); // its exit status is not used
    }
}
