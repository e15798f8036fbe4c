//! Lends the terminal to a program of the user's, such as their editor.
//!
//! The program is a process group of its own and in the terminal's foreground, so that Ctrl-C and Ctrl-Z mean it and not ralph.
//! Whoever reads keys for the screen is called off before: two readers would share what is typed.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{SigSet, Signal, kill, killpg, raise},
    unistd::{Pid, getpgrp, tcsetpgrp},
};
use rustix::process::{WaitId, WaitIdOptions, waitid};

/// How long whoever reads keys may take to let go of the terminal.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who reads from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Screen,
    /// The screen, which is to stop.
    CalledOff,
    Another,
}

/// Whether the terminal is lent.
#[derive(Clone)]
pub(super) struct Lent(Arc<(Mutex<Reader>, Condvar)>);

impl Default for Lent {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(Reader::Screen), Condvar::new())))
    }
}

impl Lent {
    /// Waits until nobody reads keys for the screen any more.
    ///
    /// # Errors
    /// If somebody still does.
    pub(super) fn call_off(&self) -> io::Result<()> {
        let mut reader = self.lock();
        *reader = Reader::CalledOff;
        // A new size, which it takes for one of the terminal, ends its wait for a key.
        kill(Pid::this(), Signal::SIGWINCH)?;
        let waited = self
            .0
            .1
            .wait_timeout_while(reader, PATIENCE, |reader| *reader == Reader::CalledOff);
        let (mut reader, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *reader == Reader::Another {
            return Ok(());
        }
        *reader = Reader::Screen;
        Err(io::Error::new(io::ErrorKind::TimedOut, "the terminal is still read"))
    }

    /// Says that the terminal is ralph's again.
    pub(super) fn end(&self) {
        *self.lock() = Reader::Screen;
        self.0.1.notify_all();
    }

    /// For whoever reads keys: returns when the terminal is not lent.
    pub(super) fn wait_while_lent(&self) {
        let mut reader = self.lock();
        while *reader != Reader::Screen {
            *reader = Reader::Another;
            self.0.1.notify_all();
            reader = self.0.1.wait(reader).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reader> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops this process with all of its group, as a terminal does at Ctrl-Z; returns when it is continued. Whoever hears SIGTSTP in
/// here hears this one as well.
///
/// # Errors
/// If signals cannot be sent.
pub(super) fn stop_group() -> io::Result<()> {
    kill(Pid::from_raw(0), Signal::SIGTSTP)?;
    // A stop of the whole process would reach this thread some time later, and what comes next would be done before.
    Ok(raise(Signal::SIGSTOP)?)
}

/// Runs `command` in the foreground of this terminal and waits for its end. For a thread of its own, whose signals it changes.
///
/// # Errors
/// If it cannot be started, or there is no terminal.
pub(super) fn lend(command: &mut Command) -> io::Result<ExitStatus> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let child = command.stdin(terminal.try_clone()?).process_group(0).spawn()?;
    // From the background, the terminal is taken back. The program must not inherit this.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    blocked.thread_block()?;
    let ended = wait_in_foreground(child, &terminal);
    tcsetpgrp(&terminal, getpgrp())?;
    ended
}

fn wait_in_foreground(mut child: Child, terminal: &File) -> io::Result<ExitStatus> {
    let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    loop {
        tcsetpgrp(terminal, group)?;
        // It was stopped, or has looked at the terminal before that was its own.
        killpg(group, Signal::SIGCONT)?;
        match wait_for_change(group)? {
            None => return child.wait(),
            Some(Signal::SIGTTIN | Signal::SIGTTOU) => {}
            // Ctrl-Z in it leads to the shell, as it does in ralph, and `fg` back into it.
            Some(_) => {
                tcsetpgrp(terminal, getpgrp())?;
                stop_group()?;
            }
        }
    }
}

/// What a process is stopped by; none when it has ended, and can be waited for.
fn wait_for_change(process: Pid) -> io::Result<Option<Signal>> {
    let process = rustix::process::Pid::from_raw(process.as_raw()).ok_or(io::ErrorKind::InvalidInput)?;
    let changes = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(process), changes) {
            Ok(status) => {
                let signal = status.and_then(|status| status.stopping_signal());
                return Ok(signal.and_then(|signal| Signal::try_from(signal).ok()));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
