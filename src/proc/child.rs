//! A running child, seen from ralph: its handle, and what the handle shares with the child's two threads.

use std::{
    fmt,
    io::PipeWriter,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use filedescriptor::FileDescriptor;
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Pid, write},
};
use portable_pty::{MasterPty, PtySize};

use super::{
    Activity, End, Size, Stop,
    liveness::CpuMeter,
    signals::{STOP_GRACEFULLY, STOP_IMMEDIATELY},
};

/// Most bytes that wait to be typed; what comes on top of that is dropped, as a terminal does.
const TYPED_CAP_BYTES: usize = 1 << 20;

/// A running child tree. Dropping it stops the tree at once; the output still gets its `ended`.
#[derive(Debug)]
pub struct Child {
    shared: Arc<Shared>,
}

impl Child {
    pub(super) fn new(shared: Arc<Shared>) -> Child {
        Child { shared }
    }

    /// Asks the guard to end the tree and returns at once. In order twice is in order once; at once always counts.
    pub fn stop(&self, stop: Stop) {
        self.shared.stop(stop);
    }

    /// Gives the terminal a new size; the program is told by `SIGWINCH`.
    pub fn resize(&self, size: Size) {
        if let Some(terminal) = self.shared.terminal().as_ref() {
            // Refused only by a terminal that is being closed.
            _ = terminal.master.resize(pty_size(size));
        }
    }

    /// Types bytes into the terminal, without ever blocking: what the program does not read now waits, up to 1 MiB.
    pub fn type_bytes(&self, bytes: &[u8]) {
        if let Some(terminal) = self.shared.terminal().as_mut() {
            terminal.type_bytes(bytes);
        }
    }

    /// Reads how much the tree has done so far. Costs a few file reads per process.
    pub fn activity(&self) -> Activity {
        self.shared.activity()
    }

    /// The guard's pid, valid until the output's `ended`.
    pub fn guard_pid(&self) -> u32 {
        self.shared.guard.as_raw().cast_unsigned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop(Stop::Immediate);
    }
}

/// What the handle, the reader and the keeper of one child have in common.
pub(super) struct Shared {
    pub guard: Pid,
    /// Set once the guard may have been reaped: from then on its pid may be anybody's.
    reaped: Mutex<bool>,
    /// None once the child has ended.
    terminal: Mutex<Option<Terminal>>,
    pub output_bytes: AtomicU64,
    cpu: Mutex<CpuMeter>,
    /// The keeper's finding, for the reader.
    pub end: Mutex<Option<Finding>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// How a child ended, and which processes could not be ended.
#[derive(Debug)]
pub(super) struct Finding {
    pub end: End,
    pub survivors: Vec<String>,
}

/// ralph's side of the terminal.
pub(super) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    /// The same terminal as `master`, as a descriptor that does not block.
    writer: FileDescriptor,
    /// Typed, but not yet taken by the terminal.
    typed: Vec<u8>,
    wake: PipeWriter,
}

impl Terminal {
    /// Takes `wake`, which wakes the reader, and `writer`, which is the same terminal as `master` and does not block.
    pub(super) fn new(master: Box<dyn MasterPty + Send>, writer: FileDescriptor, wake: PipeWriter) -> Terminal {
        Terminal {
            master,
            writer,
            typed: Vec::new(),
            wake,
        }
    }

    fn type_bytes(&mut self, bytes: &[u8]) {
        let room = TYPED_CAP_BYTES - self.typed.len();
        self.typed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.write_typed();
        if !self.typed.is_empty() {
            self.wake();
        }
    }

    /// Writes as much as the terminal takes, and returns whether something is left.
    pub(super) fn write_typed(&mut self) -> bool {
        while !self.typed.is_empty() {
            match write(&self.writer, &self.typed) {
                Ok(written) => drop(self.typed.drain(..written)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return true,
                // The terminal has no reader any more.
                Err(_) => self.typed.clear(),
            }
        }
        false
    }

    /// Wakes the reader.
    fn wake(&self) {
        // A full pipe has woken it already; a closed one means that it has ended.
        _ = write(&self.wake, b"!");
    }
}

impl Shared {
    pub(super) fn new(guard: Pid, terminal: Terminal) -> Shared {
        Shared {
            guard,
            reaped: Mutex::new(false),
            terminal: Mutex::new(Some(terminal)),
            output_bytes: AtomicU64::new(0),
            cpu: Mutex::new(CpuMeter::default()),
            end: Mutex::new(None),
        }
    }

    pub(super) fn stop(&self, stop: Stop) {
        let reaped = lock(&self.reaped);
        if *reaped {
            return;
        }
        let signal = match stop {
            Stop::Graceful => STOP_GRACEFULLY,
            Stop::Immediate => STOP_IMMEDIATELY,
        };
        // Fails only for a guard that has just ended. Continued, in case it was stopped.
        _ = kill(self.guard, signal);
        _ = kill(self.guard, Signal::SIGCONT);
    }

    /// Runs `reap` while no signal can be sent to the guard.
    pub(super) fn reap(&self, reap: impl FnOnce()) {
        let mut reaped = lock(&self.reaped);
        reap();
        *reaped = true;
    }

    pub(super) fn terminal(&self) -> MutexGuard<'_, Option<Terminal>> {
        lock(&self.terminal)
    }

    pub(super) fn wake_reader(&self) {
        if let Some(terminal) = self.terminal().as_ref() {
            terminal.wake();
        }
    }

    fn activity(&self) -> Activity {
        let mut meter = lock(&self.cpu);
        let reaped = lock(&self.reaped);
        let cpu = if *reaped { meter.total() } else { meter.read(self.guard) };
        Activity {
            output_bytes: self.output_bytes.load(Ordering::Relaxed),
            cpu,
        }
    }
}

/// Locks, whatever happened to the last holder: nothing here is left half changed by a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn pty_size(size: Size) -> PtySize {
    let size = size.clamped();
    PtySize {
        rows: size.rows,
        cols: size.cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}
