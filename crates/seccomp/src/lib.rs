//! System calls that the kernel holds until another thread answers them: seccomp's user notification, for Linux 5.19 and
//! newer.
//!
//! The only crate with unsafe code: no library that ralph could use installs such a filter, reads its notifications, connects
//! a socket to an address of any family, or sets the policy of a thread alone. Each of these functions is safe to call.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use nix::{
    errno::Errno,
    libc::{self, c_int, c_long, c_ulong, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog, socklen_t},
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

/// The calls of threads with a filter. Dropping it makes the held calls, and later ones, fail with `ENOSYS`.
#[derive(Debug)]
pub struct HeldCalls {
    listener: OwnedFd,
}

/// A system call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldCall {
    id: u64,
    /// The calling thread; 0 if it is outside of this pid namespace.
    pub thread: u32,
    /// The call's number on this processor.
    pub number: c_long,
    pub args: [u64; 6],
}

/// The answer to a held call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAnswer {
    /// The kernel makes the call. Its arguments in memory, and the file behind a descriptor, may have changed since they
    /// were looked at.
    Continue,
    /// The call returns 0 without being made.
    Done,
    /// The call fails without being made.
    Fail(Errno),
}

/// Installs a filter for the calling thread, and for the threads and programs that it starts. Calls for which the filter
/// returns `SECCOMP_RET_USER_NOTIF` are held. The thread must have set "no new privileges".
///
/// # Errors
/// The system's: `EINVAL` on older kernels, `EBUSY` if calls of this thread are held by another process already.
pub fn hold(filter: &[sock_filter]) -> io::Result<HeldCalls> {
    let program = sock_fprog {
        len: filter.len().try_into().map_err(|_| Errno::EINVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // A call whose arguments have been received is not interrupted by signals, or it would be made twice.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the kernel copies `program`, and the `len` instructions behind it, before it returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            c_ulong::from(libc::SECCOMP_SET_MODE_FILTER),
            flags,
            ptr::from_ref(&program),
        )
    };
    let listener = RawFd::try_from(checked(result)?).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just opened this descriptor for the caller.
    let listener = unsafe { OwnedFd::from_raw_fd(listener) };
    Ok(HeldCalls { listener })
}

impl HeldCalls {
    /// Waits for the next call; `None` once no thread with the filter is left. For one thread at a time.
    ///
    /// # Errors
    /// The system's.
    pub fn next(&self) -> io::Result<Option<HeldCall>> {
        loop {
            let mut watched = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let events = watched[0].revents().unwrap_or(PollFlags::POLLERR);
            if events.contains(PollFlags::POLLIN) {
                match self.receive() {
                    // The calling thread was killed, or this one interrupted.
                    Err(Errno::ENOENT | Errno::EINTR) => {}
                    received => return Ok(Some(received?)),
                }
            } else if !events.is_empty() {
                return Ok(None);
            }
        }
    }

    fn receive(&self) -> Result<HeldCall, Errno> {
        // SAFETY: the structure consists of integers, and the kernel requires it to be zeroed.
        let mut received: seccomp_notif = unsafe { mem::zeroed() };
        // SAFETY: the descriptor is open, and the kernel writes one structure of this type.
        let result = unsafe {
            libc::ioctl(
                self.listener.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                ptr::from_mut(&mut received),
            )
        };
        Errno::result(result)?;
        Ok(HeldCall {
            id: received.id,
            thread: received.pid,
            number: c_long::from(received.data.nr),
            args: received.data.args,
        })
    }

    /// Whether the call still waits. What was read of its thread before belongs to that thread only if it does: the
    /// thread may have been killed, and its number may be that of another.
    pub fn is_waiting(&self, call: &HeldCall) -> bool {
        let id = call.id;
        // SAFETY: the descriptor is open, and the kernel reads one integer.
        let result = unsafe {
            libc::ioctl(
                self.listener.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                ptr::from_ref(&id),
            )
        };
        result == 0
    }

    /// Answers a call. Has no effect if its thread was killed.
    pub fn answer(&self, call: &HeldCall, answer: CallAnswer) {
        let (error, flags) = match answer {
            CallAnswer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE),
            CallAnswer::Done => (0, 0),
            CallAnswer::Fail(errno) => (-(errno as c_int), 0),
        };
        let response = seccomp_notif_resp {
            id: call.id,
            val: 0,
            error,
            flags: flags as u32,
        };
        // SAFETY: the descriptor is open, and the kernel reads one structure of this type.
        unsafe {
            libc::ioctl(
                self.listener.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                ptr::from_ref(&response),
            );
        }
    }
}

/// Connects `socket` to an address of any family, as the system writes it.
///
/// # Errors
/// The system's.
pub fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let (start, length) = parts(address)?;
    // SAFETY: the descriptor is open, and the kernel reads at most `length` bytes from the start of the slice.
    let result = unsafe { libc::connect(socket.as_raw_fd(), start, length) };
    Errno::result(result).map(drop)
}

/// Binds `socket` to an address of any family, as the system writes it.
///
/// # Errors
/// The system's.
pub fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let (start, length) = parts(address)?;
    // SAFETY: as in `connect`.
    let result = unsafe { libc::bind(socket.as_raw_fd(), start, length) };
    Errno::result(result).map(drop)
}

/// Has the calling thread, and the programs that it starts, run where nothing else wants to. It cannot be taken back.
///
/// # Errors
/// The system's.
pub fn run_when_idle() -> io::Result<()> {
    let priority: c_int = 0;
    // SAFETY: 0 is the calling thread, and the kernel only reads one number. musl's own function always fails.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority) };
    checked(result).map(drop)
}

fn parts(address: &[u8]) -> Result<(*const libc::sockaddr, socklen_t), Errno> {
    let length = address.len().try_into().map_err(|_| Errno::EINVAL)?;
    Ok((address.as_ptr().cast(), length))
}

fn checked(result: c_long) -> io::Result<c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener, TcpStream},
        thread,
    };

    use nix::sys::prctl;

    use super::*;

    /// A filter that holds `call` of this processor's ordinary interface and allows all others.
    fn holding(call: c_long) -> [sock_filter; 4] {
        let instruction = |code: u32, jump_unless: u8, value: u32| sock_filter {
            code: u16::try_from(code).unwrap(),
            jt: 0,
            jf: jump_unless,
            k: value,
        };
        [
            // The number is the first field of what a filter sees.
            instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            instruction(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                1,
                u32::try_from(call).unwrap(),
            ),
            instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_USER_NOTIF),
            instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ]
    }

    /// Calls `work` in a thread whose connections are held, and answers each call. Returns its result and the calls.
    fn held<T: Send>(work: impl FnOnce() -> T + Send, answer: CallAnswer) -> Option<(T, Vec<HeldCall>)> {
        thread::scope(|scope| {
            let (sender, calls) = std::sync::mpsc::channel();
            let worker = scope.spawn(move || {
                prctl::set_no_new_privs().unwrap();
                let calls = hold(&holding(libc::SYS_connect));
                let is_held = calls.is_ok();
                sender.send(calls).unwrap();
                is_held.then(work)
            });
            // An older kernel, or a process above that holds calls.
            let calls = calls.recv().unwrap().ok()?;
            let mut seen = Vec::new();
            while let Some(call) = calls.next().unwrap() {
                assert!(calls.is_waiting(&call));
                calls.answer(&call, answer);
                assert!(!calls.is_waiting(&call));
                seen.push(call);
            }
            Some((worker.join().unwrap()?, seen))
        })
    }

    #[test]
    fn a_held_call_gets_its_answer_and_the_end_of_its_thread_ends_the_listening() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        for (answer, expected) in [
            (CallAnswer::Continue, None),
            (CallAnswer::Fail(Errno::EACCES), Some(Errno::EACCES as i32)),
        ] {
            let Some((connected, calls)) = held(|| TcpStream::connect(address).map(drop), answer) else {
                return;
            };
            assert_eq!(connected.err().and_then(|error| error.raw_os_error()), expected);
            assert_eq!(calls.len(), 1);
            assert_eq!(calls[0].number, libc::SYS_connect);
        }
    }
}
