//! Reads what one child writes, on a thread of its own: terminal and FIFO, until the process tree has ended and both are empty.
//!
//! Stop 1 of the tour in ARCHITECTURE.md. Bytes go to an [`Output`](super::Output), which may block and so slows the child; the
//! reporter of an agent (stop 2) is one.

use std::{
    fs,
    io::{PipeReader, Read},
    os::fd::AsFd,
    sync::{Arc, atomic::Ordering},
    thread,
};

use filedescriptor::FileDescriptor;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use portable_pty::SlavePty;
use tempfile::TempDir;

use super::{
    Output, Stop,
    child::{Finding, Shared, Terminal, lock},
};

const BUFFER_BYTES: usize = 64 * 1024;
/// More than the kernel can hold for us: what comes after that is written by a process that survived everything.
const DRAIN_CAP_BYTES: usize = 4 << 20;

/// What the reader reads, and what it closes at the end.
pub(super) struct Sources {
    pub terminal: FileDescriptor,
    /// Kept open until the tree has ended. Without it, the terminal would hang up whenever a tree has closed it for a
    /// moment, and other systems throw away what was not read before the last process has closed it.
    pub slave: Box<dyn SlavePty + Send>,
    /// Never at its end, because it is open for writing here as well: the processes say when all is over.
    pub fifo: Option<fs::File>,
    pub wake: PipeReader,
    /// The child's files, removed with it.
    pub dir: TempDir,
}

pub(super) struct Reader {
    shared: Arc<Shared>,
    output: Box<dyn Output>,
    sources: Sources,
    keeper: thread::JoinHandle<()>,
    buffer: Vec<u8>,
}

/// Stops the tree if the output panics: its output would have no reader any more.
struct StopOnPanic(Arc<Shared>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(Stop::Immediate);
        }
    }
}

impl Reader {
    pub(super) fn new(
        shared: Arc<Shared>,
        output: Box<dyn Output>,
        sources: Sources,
        keeper: thread::JoinHandle<()>,
    ) -> Reader {
        Reader {
            shared,
            output,
            sources,
            keeper,
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    /// Reads to the end, then calls the output's `ended`.
    pub(super) fn read(mut self) {
        let _stop = StopOnPanic(Arc::clone(&self.shared));
        let finding = loop {
            self.wait();
            if self.shared.take_asked() {
                self.output.woken();
            }
            self.pass_on();
            if let Some(finding) = lock(&self.shared.end).take() {
                break finding;
            }
        };
        self.finish(finding);
    }

    /// Waits until there is something to read, to type, or to be told.
    fn wait(&mut self) {
        let waiting = self.shared.terminal().as_mut().map(Terminal::write_waiting);
        let waiting = waiting.unwrap_or_default();
        self.shared.tell_of_input();
        let mut terminal = PollFlags::POLLIN;
        terminal.set(PollFlags::POLLOUT, waiting.typed);
        let mut fds = vec![
            PollFd::new(self.sources.wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.sources.terminal.as_fd(), terminal),
        ];
        let output = self.sources.fifo.as_ref();
        fds.extend(output.map(|fifo| PollFd::new(fifo.as_fd(), PollFlags::POLLIN)));
        let input = waiting.input.as_ref();
        fds.extend(input.map(|fifo| PollFd::new(fifo.as_fd(), PollFlags::POLLOUT)));
        // An interrupted wait is one that ended early.
        _ = poll(&mut fds, PollTimeout::NONE);
        drop(fds);
        let mut wakes = [0; 64];
        while matches!(self.sources.wake.read(&mut wakes), Ok(64)) {}
    }

    /// Hands over what can be read without waiting, one buffer of each at most. Returns how many bytes that was.
    fn pass_on(&mut self) -> usize {
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

    fn count(&self, bytes: usize) {
        self.shared.output_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The tree has ended: reads what is left, closes everything, and says so.
    fn finish(mut self, finding: Finding) {
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
                "\r\nralph: these could not be ended: {}\r\n",
                finding.survivors.join(", ")
            );
            self.output.terminal(text.as_bytes());
        }
        let Reader {
            shared,
            mut output,
            sources,
            keeper,
            buffer: _,
        } = self;
        drop(shared.terminal().take());
        drop(sources.slave);
        drop(sources.terminal);
        drop(sources.fifo);
        drop(sources.wake);
        // A directory that cannot be removed is in the way of nothing; its owner removes it with the scratch.
        _ = sources.dir.close();
        // It has nothing left to do but to return; a panic in it is not ours to repeat.
        _ = keeper.join();
        output.ended(finding.end);
    }
}

/// Fills `buffer` with what is there. Returns how much that was.
fn fill(source: impl AsFd, buffer: &mut [u8]) -> usize {
    let mut length = 0;
    while length < buffer.len() {
        match nix::unistd::read(source.as_fd(), &mut buffer[length..]) {
            Ok(read) if read > 0 => length += read,
            Err(Errno::EINTR) => {}
            // A terminal that no process has open any more says so by an error, EIO.
            Ok(_) | Err(_) => break,
        }
    }
    length
}
