//! Lends the terminal to another program, such as the user's editor.
//!
//! The program has its own process group in the terminal's foreground, so that Ctrl-C and Ctrl-Z affect the program and
//! not ralph. The screen's key reader is stopped first: two readers would share what is typed.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use nix::{
    sys::signal::{SigSet, Signal, kill, killpg, raise},
    unistd::{Pid, getpgrp, tcsetpgrp},
};
use parking_lot::{Condvar, Mutex};
use rustix::process::{WaitId, WaitIdOptions, waitid};

/// Time limit for the key reader to release the terminal.
const PATIENCE: Duration = Duration::from_secs(2);

/// The current reader of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalReader {
    Screen,
    /// The screen, which was asked to stop reading.
    CalledOff,
    Another,
}

/// Shared state: whether the terminal is lent.
#[derive(Clone)]
pub(super) struct TerminalOwnership(Arc<(Mutex<TerminalReader>, Condvar)>);

impl Default for TerminalOwnership {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(TerminalReader::Screen), Condvar::new())))
    }
}

impl TerminalOwnership {
    /// Waits until the screen's key reader has stopped.
    ///
    /// # Errors
    /// If the reader does not stop in time.
    pub(super) fn stop_key_reader(&self) -> io::Result<()> {
        let mut reader = self.0.0.lock();
        *reader = TerminalReader::CalledOff;
        // The signal that announces a resize ends the reader's wait for a key.
        kill(Pid::this(), Signal::SIGWINCH)?;
        let reads = |reader: &mut TerminalReader| *reader == TerminalReader::CalledOff;
        self.0.1.wait_while_for(&mut reader, reads, PATIENCE);
        if *reader == TerminalReader::Another {
            return Ok(());
        }
        *reader = TerminalReader::Screen;
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "another reader still owns the terminal",
        ))
    }

    /// Notes that the terminal is ralph's again.
    pub(super) fn take_back(&self) {
        *self.0.0.lock() = TerminalReader::Screen;
        self.0.1.notify_all();
    }

    /// Called by the key reader; returns once the terminal is not lent.
    pub(super) fn wait_until_owned(&self) {
        let mut reader = self.0.0.lock();
        while *reader != TerminalReader::Screen {
            *reader = TerminalReader::Another;
            self.0.1.notify_all();
            self.0.1.wait(&mut reader);
        }
    }
}

/// Stops this process, and returns after it was continued.
pub(super) type StopsGroup<'a> = &'a dyn Fn() -> io::Result<()>;

/// Stops this process and its group, as a terminal does on Ctrl-Z. Returns after it was continued. SIGTSTP handlers of
/// this process receive this signal, too.
///
/// # Errors
/// If signals cannot be sent.
pub(super) fn stop_group() -> io::Result<()> {
    kill(Pid::from_raw(0), Signal::SIGTSTP)?;
    // `raise` stops this thread at once. A signal to the process might reach it only after the caller's next steps.
    Ok(raise(Signal::SIGSTOP)?)
}

/// Runs `command` in the foreground of this terminal and waits for its end. `stop` is called when it was stopped, and
/// returns when it is to go on. To be called on a dedicated thread, whose signal mask it changes.
///
/// # Errors
/// If the command cannot be started, or there is no terminal.
pub(super) fn run_in_foreground(command: &mut Command, stop: StopsGroup<'_>) -> io::Result<ExitStatus> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let started = start_in_foreground(command, &terminal);
    // This process is in the background when it takes the terminal back, which would raise SIGTTOU. Blocked after the
    // spawn, so that the program does not inherit the mask.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    blocked.thread_block()?;
    let ended = started.and_then(|(child, group)| wait_in_foreground(child, group, &terminal, stop));
    tcsetpgrp(&terminal, getpgrp())?;
    ended
}

/// Starts `command` in a process group that is in the foreground already: before it is, keys would affect ralph. Returns
/// the process and its group.
fn start_in_foreground(command: &mut Command, terminal: &File) -> io::Result<(Child, Pid)> {
    // A group exists as long as a process of it does, even one that has ended and was not waited for.
    let mut first = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()?;
    let group = pid_of(&first)?;
    tcsetpgrp(terminal, group)?;
    let child = command
        .stdin(terminal.try_clone()?)
        .process_group(group.as_raw())
        .spawn();
    // By a signal, since Ctrl-Z may have stopped it with the program.
    first.kill()?;
    first.wait()?;
    Ok((child?, group))
}

fn wait_in_foreground(mut child: Child, group: Pid, terminal: &File, stop: StopsGroup<'_>) -> io::Result<ExitStatus> {
    while wait_for_change(pid_of(&child)?)? == ProcessChange::Stopped {
        // Ctrl-Z in the program leads to the shell, as it does in ralph; `fg` leads back to the program.
        tcsetpgrp(terminal, getpgrp())?;
        stop()?;
        tcsetpgrp(terminal, group)?;
        killpg(group, Signal::SIGCONT)?;
    }
    child.wait()
}

fn pid_of(child: &Child) -> io::Result<Pid> {
    Ok(Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?))
}

/// A change of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessChange {
    Stopped,
    /// It can be waited for.
    Ended,
}

/// Waits until a child process stops or ends.
fn wait_for_change(process: Pid) -> io::Result<ProcessChange> {
    let process = rustix::process::Pid::from_raw(process.as_raw()).ok_or(io::ErrorKind::InvalidInput)?;
    let changes = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(process), changes) {
            Ok(status) if status.is_some_and(|status| status.stopped()) => return Ok(ProcessChange::Stopped),
            Ok(_) => return Ok(ProcessChange::Ended),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
