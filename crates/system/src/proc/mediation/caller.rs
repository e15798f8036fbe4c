//! The thread behind a held call: its memory, its sockets, its user.

use std::{
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::fs::FileExt},
};

use nix::errno::Errno;
use ralph_seccomp::HeldCall;
use rustix::{
    process::{Gid, Pid, PidfdFlags, PidfdGetfdFlags, Uid, getegid, geteuid, pidfd_getfd, pidfd_open},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// The longest address of a socket.
const ADDRESS_BYTES: u64 = 128;

/// A thread that waits for the answer to a call.
pub(super) struct Caller {
    thread: u32,
    process: Pid,
    uid: Uid,
    gid: Gid,
}

impl Caller {
    /// Looks up the thread of `call`.
    ///
    /// # Errors
    /// The system's, if it cannot be looked at.
    pub(super) fn new(call: &HeldCall) -> io::Result<Caller> {
        let status = fs::read_to_string(format!("/proc/{}/status", call.thread))?;
        // The effective id is the second of four.
        let field = |name: &str, index: usize| -> Option<&str> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().nth(index)
        };
        let number = |name: &str, index: usize| -> io::Result<u32> {
            let text = field(name, index).ok_or(Errno::ESRCH)?;
            Ok(text.parse().map_err(|_| Errno::ESRCH)?)
        };
        let process = i32::try_from(number("Tgid:", 0)?).ok().and_then(Pid::from_raw);
        Ok(Caller {
            thread: call.thread,
            process: process.ok_or(Errno::ESRCH)?,
            uid: Uid::from_raw(number("Uid:", 1)?),
            gid: Gid::from_raw(number("Gid:", 1)?),
        })
    }

    /// The directory of this thread in `/proc`.
    pub(super) fn directory(&self) -> String {
        format!("/proc/{}", self.thread)
    }

    /// Reads an address of a socket from its memory, as the system writes it.
    ///
    /// # Errors
    /// The error that the call would have, or the system's.
    pub(super) fn address(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        if length > ADDRESS_BYTES {
            return Err(Errno::EINVAL.into());
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        File::open(format!("{}/mem", self.directory()))?
            .read_exact_at(&mut bytes, start)
            .map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => error,
                _ => Errno::EFAULT.into(),
            })?;
        Ok(bytes)
    }

    /// Duplicates one of its descriptors: the same open file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn descriptor(&self, number: u64) -> io::Result<OwnedFd> {
        let number = i32::try_from(number & u64::from(u32::MAX)).map_err(|_| Errno::EBADF)?;
        let process = pidfd_open(self.process, PidfdFlags::empty())?;
        Ok(pidfd_getfd(process, number, PidfdGetfdFlags::empty())?)
    }

    /// Makes the calling thread, which must end soon, a thread of the caller's user: access to files, and the user that
    /// the other end of a connection sees, are those of the caller.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn adopt_user(&self) -> io::Result<()> {
        if self.uid == geteuid() && self.gid == getegid() {
            return Ok(());
        }
        set_thread_groups(&[])?;
        set_thread_res_gid(Some(self.gid), Some(self.gid), Some(self.gid))?;
        Ok(set_thread_res_uid(Some(self.uid), Some(self.uid), Some(self.uid))?)
    }
}
