//! The handle of a running child, and the state it shares with the child's reader and guard waiter threads.

use std::{
    fmt,
    fs::{self, File},
    io::PipeWriter,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use filedescriptor::FileDescriptor;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, write},
};
use parking_lot::Mutex;
use portable_pty::{MasterPty, PtySize};

use super::{
    Activity, ChildEnd, LeftProcess, Size, StopSpeed,
    liveness::CpuMeter,
    signals::{INPUT_ENDED, STOP_GRACEFULLY, STOP_IMMEDIATELY},
    spec::ChildFiles,
    write_queue::WriteQueue,
};

/// Most bytes that wait to be typed; further bytes are dropped, as a terminal does.
const TYPED_CAP_BYTES: usize = 1 << 20;
/// Most bytes that wait to be read from standard input: a program that lets more pile up does not read.
const INPUT_CAP_BYTES: usize = 64 << 20;

/// A running child tree. Dropping it stops the tree at once; the output still gets its `ended`.
#[derive(Debug)]
pub struct Child {
    shared: Arc<ChildState>,
}

impl Child {
    pub(super) fn new(shared: Arc<ChildState>) -> Child {
        Child { shared }
    }

    /// Asks the guard to end the tree and returns at once. A repeated graceful stop has no effect; an immediate one
    /// does.
    pub fn stop(&self, stop: StopSpeed) {
        self.shared.stop(stop);
    }

    /// Gives the terminal a new size; the program is told by `SIGWINCH`.
    pub fn resize(&self, size: Size) {
        if let Some(terminal) = self.shared.terminal.lock().as_ref() {
            // Refused only by a terminal that is being closed.
            _ = terminal.master.resize(pty_size(size));
        }
    }

    /// Types bytes into the terminal without blocking: up to 1 MiB that the program does not read yet is kept.
    pub fn type_bytes(&self, bytes: &[u8]) {
        if let Some(terminal) = self.shared.terminal.lock().as_mut() {
            terminal.type_bytes(bytes);
        }
    }

    /// Writes to the program's standard input ([`Stdin::Piped`](super::Stdin)) without blocking: up to 64 MiB that the
    /// program does not read yet is kept.
    ///
    /// # Errors
    /// [`InputRefused`] if the input is closed or not piped, or if there is no room; nothing of `bytes` is written then.
    pub fn write_input(&self, bytes: &[u8]) -> Result<(), InputRefused> {
        match self.shared.terminal.lock().as_mut() {
            Some(terminal) => terminal.write_input(bytes),
            None => Err(InputRefused),
        }
    }

    /// Ends the program's standard input once all waiting bytes have been read.
    pub fn close_input(&self) {
        if let Some(terminal) = self.shared.terminal.lock().as_mut() {
            terminal.close_input();
        }
        self.shared.report_input_end();
    }

    /// Makes the reader thread call [`OutputSink::woken`](super::OutputSink) soon.
    pub fn wake(&self) {
        self.shared.ask_reader();
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

/// The program takes no input: it is closed or full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputRefused;

impl Drop for Child {
    fn drop(&mut self) {
        self.stop(StopSpeed::Immediate);
    }
}

/// The state that the handle, the reader and the guard waiter of one child share.
pub(super) struct ChildState {
    pub guard: Pid,
    /// The child's files, through which a guard that is still starting is told what it cannot receive as a signal yet.
    files: ChildFiles,
    /// Whether the guard may have been reaped: from then on its pid may belong to another process.
    reaped: Mutex<bool>,
    /// `None` once the child has ended.
    pub(super) terminal: Mutex<Option<ChildTerminal>>,
    pub output_bytes: AtomicU64,
    /// Whether [`Child::wake`] was called since the output was last told.
    asked: AtomicBool,
    cpu: Mutex<CpuMeter>,
    /// The guard waiter's report, for the reader.
    pub end: Mutex<Option<EndReport>>,
}

impl fmt::Debug for ChildState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// How a child ended, and which processes could not be ended.
#[derive(Debug)]
pub(super) struct EndReport {
    pub end: ChildEnd,
    pub survivors: Vec<String>,
    /// The processes that the program left running when it ended.
    pub left_running: Vec<LeftProcess>,
}

/// ralph's side of the terminal.
pub(super) struct ChildTerminal {
    master: Box<dyn MasterPty + Send>,
    /// The terminal of `master`, as a non-blocking descriptor.
    typed: WriteQueue<FileDescriptor>,
    input: ChildInput,
    /// Whether standard input was closed and the guard has not been told yet.
    input_ended: bool,
    wake: PipeWriter,
}

/// The program's standard input.
enum ChildInput {
    /// It is not a pipe of ralph's, or it was closed.
    Closed,
    Open(WriteQueue<Arc<File>>),
    /// To be closed as soon as all waiting bytes have been written.
    Closing(WriteQueue<Arc<File>>),
}

/// The descriptors with bytes left to write, to be polled.
#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    pub typed: bool,
    pub input: Option<Arc<File>>,
}

impl ChildTerminal {
    /// Makes ralph's side. `wake` wakes the reader, `writer` is a non-blocking descriptor of the terminal of `master`,
    /// `input` is the pipe to the program's standard input, if it has one.
    pub(super) fn new(
        master: Box<dyn MasterPty + Send>,
        writer: FileDescriptor,
        input: Option<File>,
        wake: PipeWriter,
    ) -> ChildTerminal {
        ChildTerminal {
            master,
            typed: WriteQueue::new(writer, TYPED_CAP_BYTES),
            input: input.map_or(ChildInput::Closed, |pipe| {
                ChildInput::Open(WriteQueue::new(Arc::new(pipe), INPUT_CAP_BYTES))
            }),
            input_ended: false,
            wake,
        }
    }

    fn type_bytes(&mut self, bytes: &[u8]) {
        if self.typed.push(bytes) {
            self.wake();
        }
    }

    fn write_input(&mut self, bytes: &[u8]) -> Result<(), InputRefused> {
        match &mut self.input {
            ChildInput::Open(queue) if queue.room() >= bytes.len() => {
                if queue.push(bytes) {
                    self.wake();
                }
                Ok(())
            }
            ChildInput::Open(_) | ChildInput::Closed | ChildInput::Closing(_) => Err(InputRefused),
        }
    }

    fn close_input(&mut self) {
        if let ChildInput::Open(queue) = std::mem::replace(&mut self.input, ChildInput::Closed) {
            self.input = ChildInput::Closing(queue);
            if self.write_input_waiting() {
                self.wake();
            }
        }
    }

    /// Writes as much as possible without blocking, and returns which descriptors have bytes left.
    pub(super) fn write_waiting(&mut self) -> PendingWrites {
        let typed = self.typed.write_waiting();
        let left = self.write_input_waiting();
        let pipe = match &self.input {
            ChildInput::Open(queue) | ChildInput::Closing(queue) => Some(queue.descriptor()),
            ChildInput::Closed => None,
        };
        PendingWrites {
            typed,
            input: pipe.filter(|_| left).cloned(),
        }
    }

    fn write_input_waiting(&mut self) -> bool {
        let (left, closing) = match &mut self.input {
            ChildInput::Closed => (false, false),
            ChildInput::Open(queue) => (queue.write_waiting(), false),
            ChildInput::Closing(queue) => (queue.write_waiting(), true),
        };
        if closing && !left {
            self.input = ChildInput::Closed;
            self.input_ended = true;
        }
        left
    }

    /// Wakes the reader.
    fn wake(&self) {
        // A full pipe has woken it already; a closed one means that it has ended.
        _ = write(&self.wake, b"!");
    }
}

impl ChildState {
    pub(super) fn new(guard: Pid, terminal: ChildTerminal, files: ChildFiles) -> ChildState {
        ChildState {
            guard,
            files,
            reaped: Mutex::new(false),
            terminal: Mutex::new(Some(terminal)),
            output_bytes: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            cpu: Mutex::new(CpuMeter::default()),
            end: Mutex::new(None),
        }
    }

    pub(super) fn stop(&self, stop: StopSpeed) {
        let signal = match stop {
            StopSpeed::Graceful => STOP_GRACEFULLY,
            StopSpeed::Immediate => STOP_IMMEDIATELY,
        };
        self.notify_guard(&self.files.stopped(), signal);
    }

    /// Tells the guard once that the program's standard input may end, because the guard holds it open as well.
    pub(super) fn report_input_end(&self) {
        let ended = |terminal: &mut ChildTerminal| std::mem::take(&mut terminal.input_ended);
        if self.terminal.lock().as_mut().is_some_and(ended) {
            self.notify_guard(&self.files.input_ended(), INPUT_ENDED);
        }
    }

    /// Tells the guard by a signal, and by a file in case it is still starting and the signal is ignored.
    fn notify_guard(&self, file: &Path, signal: Signal) {
        let reaped = self.reaped.lock();
        if !*reaped {
            _ = fs::write(file, ""); // a full disk has worse consequences
            // Fails only for a guard that has just ended. SIGCONT in case the guard was stopped.
            _ = kill(self.guard, signal);
            _ = kill(self.guard, Signal::SIGCONT);
        }
    }

    /// Runs `reap` while no signal can be sent to the guard.
    pub(super) fn reap(&self, reap: impl FnOnce()) {
        let mut reaped = self.reaped.lock();
        reap();
        *reaped = true;
    }

    fn ask_reader(&self) {
        self.asked.store(true, Ordering::Release);
        self.wake_reader();
    }

    /// Whether the output is to be called. Clears the request.
    pub(super) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    pub(super) fn wake_reader(&self) {
        if let Some(terminal) = self.terminal.lock().as_ref() {
            terminal.wake();
        }
    }

    fn activity(&self) -> Activity {
        let mut meter = self.cpu.lock();
        let reaped = self.reaped.lock();
        let cpu = if *reaped { meter.total() } else { meter.read(self.guard) };
        Activity {
            output_bytes: self.output_bytes.load(Ordering::Relaxed),
            cpu,
        }
    }
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
