//! Reads the output of one child on a thread of its own: terminal and FIFO, until the process tree has ended and both
//! are empty.
//!
//! Stop 1 of the tour in ARCHITECTURE.md. Bytes go to an [`OutputSink`](super::Output), which may block and so slows the
//! child; an agent's reporter (stop 2) is such an output.

use std::{
    fs,
    io::{PipeReader, Read},
    os::fd::AsFd,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use filedescriptor::FileDescriptor;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use portable_pty::SlavePty;
use tempfile::TempDir;

use super::{
    OnLeftRunning, OnRefused, OutputSink, StopSpeed,
    child::{ChildState, ChildTerminal, EndReport},
};

const BUFFER_BYTES: usize = 64 * 1024;
/// More than the kernel can buffer for ralph: bytes beyond that come from a process that survived everything.
const DRAIN_CAP_BYTES: usize = 4 << 20;

/// The descriptors and files of the reader, closed at the end.
pub(super) struct OutputSources {
    pub terminal: FileDescriptor,
    /// Kept open until the tree has ended. Without it, the terminal would hang up whenever all processes of the tree
    /// have closed it for a moment, and other systems discard unread output when the last process closes it.
    pub slave: Box<dyn SlavePty + Send>,
    /// Never at end of file, because it is also open for writing here: the end is decided by the processes.
    pub fifo: Option<fs::File>,
    /// Calls that the tree is refused, and their receiver. As `fifo`, never at end of file.
    pub refusals: Option<(fs::File, OnRefused)>,
    pub on_left_running: Option<OnLeftRunning>,
    pub wake: PipeReader,
    /// The child's files, removed with it.
    pub dir: TempDir,
}

pub(super) struct ChildOutputReader {
    shared: Arc<ChildState>,
    output: Box<dyn OutputSink>,
    sources: OutputSources,
    waiter: thread::JoinHandle<()>,
    buffer: Vec<u8>,
    /// Bytes of refusals whose line has not ended yet.
    unfinished: Vec<u8>,
}

/// Stops the tree if the output panics: the child's output would have no reader any more.
struct StopOnPanic(Arc<ChildState>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(StopSpeed::Immediate);
        }
    }
}

impl ChildOutputReader {
    pub(super) fn new(
        shared: Arc<ChildState>,
        output: Box<dyn OutputSink>,
        sources: OutputSources,
        waiter: thread::JoinHandle<()>,
    ) -> ChildOutputReader {
        ChildOutputReader {
            shared,
            output,
            sources,
            waiter,
            buffer: vec![0; BUFFER_BYTES],
            unfinished: Vec::new(),
        }
    }

    /// Reads to the end, then calls the output's `ended`.
    pub(super) fn read(mut self) {
        let _stop = StopOnPanic(Arc::clone(&self.shared));
        let finding = loop {
            self.wait();
            let is_due = self.output.due().is_some_and(|due| due <= Instant::now());
            if self.shared.take_asked() || is_due {
                self.output.woken();
            }
            self.pass_on();
            if let Some(finding) = self.shared.end.lock().take() {
                break finding;
            }
        };
        self.finish(finding);
    }

    /// Waits until there is something to read or to write, or until the reader is woken.
    fn wait(&mut self) {
        let waiting = self.shared.terminal.lock().as_mut().map(ChildTerminal::write_waiting);
        let waiting = waiting.unwrap_or_default();
        self.shared.report_input_end();
        let mut terminal = PollFlags::POLLIN;
        terminal.set(PollFlags::POLLOUT, waiting.typed);
        let mut fds = vec![
            PollFd::new(self.sources.wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.sources.terminal.as_fd(), terminal),
        ];
        let output = self.sources.fifo.as_ref();
        fds.extend(output.map(|fifo| PollFd::new(fifo.as_fd(), PollFlags::POLLIN)));
        let refusals = self.sources.refusals.as_ref();
        fds.extend(refusals.map(|(fifo, _)| PollFd::new(fifo.as_fd(), PollFlags::POLLIN)));
        let input = waiting.input.as_ref();
        fds.extend(input.map(|fifo| PollFd::new(fifo.as_fd(), PollFlags::POLLOUT)));
        // Rounded up, so that the time has come when poll returns.
        let timeout = self.output.due().map_or(PollTimeout::NONE, |due| {
            let left = due.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        // An interrupted wait counts as one that ended early.
        _ = poll(&mut fds, timeout);
        drop(fds);
        let mut wakes = [0; 64];
        while matches!(self.sources.wake.read(&mut wakes), Ok(64)) {}
    }

    /// Hands over what can be read without waiting, one buffer of each at most. Returns the number of bytes.
    fn pass_on(&mut self) -> usize {
        self.report_refusals();
        let length = fill(&self.sources.terminal, &mut self.buffer);
        self.count(length);
        if length > 0 {
            self.output.terminal(&self.buffer[..length]);
        }
        let Some(fifo) = &self.sources.fifo else {
            return length;
        };
        let piped = fill(fifo, &mut self.buffer);
        self.count(piped);
        if piped > 0 {
            self.output.stdout(&self.buffer[..piped]);
        }
        length + piped
    }

    fn report_refusals(&mut self) {
        let Some((fifo, OnRefused(on_refused))) = &self.sources.refusals else {
            return;
        };
        let length = fill(fifo, &mut self.buffer);
        self.unfinished.extend_from_slice(&self.buffer[..length]);
        while let Some(end) = self.unfinished.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unfinished.drain(..=end).collect();
            if let Ok(call) = serde_json::from_slice(&line) {
                on_refused(call);
            }
        }
    }

    fn count(&self, bytes: usize) {
        self.shared.output_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Reads what is left once the tree has ended, closes everything, and calls the output's `ended`.
    fn finish(mut self, finding: EndReport) {
        let mut drained = 0;
        loop {
            let length = self.pass_on();
            drained += length;
            if length == 0 || drained > DRAIN_CAP_BYTES {
                break;
            }
        }
        if !finding.survivors.is_empty() {
            let text = format!(
                "\r\nralph: these processes could not be ended: {}\r\n",
                finding.survivors.join(", ")
            );
            self.output.terminal(text.as_bytes());
        }
        if let Some(OnLeftRunning(on_left_running)) = &self.sources.on_left_running
            && !finding.left_running.is_empty()
        {
            on_left_running(finding.left_running);
        }
        let ChildOutputReader {
            shared,
            mut output,
            sources,
            waiter,
            buffer: _,
            unfinished: _,
        } = self;
        drop(shared.terminal.lock().take());
        drop(sources.slave);
        drop(sources.terminal);
        drop(sources.fifo);
        drop(sources.refusals);
        drop(sources.wake);
        // A directory that cannot be removed does no harm; its owner removes it with the scratch.
        _ = sources.dir.close();
        // The guard waiter has nothing left to do but to return; a panic in it is not repeated here.
        _ = waiter.join();
        output.ended(finding.end);
    }
}

/// Fills `buffer` with what is available. Returns the number of bytes.
fn fill(source: impl AsFd, buffer: &mut [u8]) -> usize {
    let mut length = 0;
    while length < buffer.len() {
        match nix::unistd::read(source.as_fd(), &mut buffer[length..]) {
            Ok(read) if read > 0 => length += read,
            Err(Errno::EINTR) => {}
            // EIO is how a terminal says that no process has it open any more.
            Ok(_) | Err(_) => break,
        }
    }
    length
}
