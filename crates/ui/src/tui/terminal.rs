//! Takes the user's terminal and gives it back, even after a panic.
//!
//! Writes go directly to the descriptor. A thread that blocks in a write to a stopped terminal must not keep another
//! thread from giving the terminal back.

use std::{
    io,
    os::fd::AsFd,
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crossterm::terminal;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::termios::{FlushArg, tcflush, tcgetattr},
};
use parking_lot::{Condvar, Mutex};
use ralph_text::{AllowedEscapes, escape_controls};

/// Time limit for an unresponsive terminal when it is given back.
const PATIENCE_MS: u16 = 100;

/// Time limit for the answer to a query. A later answer would look like typed input to the next program.
const ANSWER_PATIENCE: Duration = Duration::from_millis(400);

const TAKE: &str = "\x1b[?1049h\x1b[22;2t\x1b[?2004h\x1b[?25l\x1b[2J";
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";
const GIVE_BACK: &str = "\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[2J\x1b[?25h\x1b[23;2t\x1b[?1049l";

const NO_PROGRESS: &str = "\x1b]9;4;0\x1b\\";

/// Whether ralph has the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether a progress indicator is on, which has to be removed with everything else.
static SHOWS_PROGRESS: AtomicBool = AtomicBool::new(false);
/// Time of the query that the terminal has not answered yet.
static ASKED: Mutex<Option<Instant>> = Mutex::new(None);
static ANSWERED: Condvar = Condvar::new();
/// Panic messages that would have been written across the screen.
static HELD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes the terminal: raw mode, alternate screen, and mouse reporting if `mouse` is set.
///
/// # Errors
/// Errors of the terminal, which is then given back.
pub fn take(mouse: bool) -> io::Result<()> {
    hold_panics();
    TAKEN.store(true, Ordering::SeqCst);
    // crossterm sets raw mode only once, and a shell may have ended it while this process was stopped.
    terminal::disable_raw_mode()
        .and_then(|()| terminal::enable_raw_mode())
        .inspect_err(|_| TAKEN.store(false, Ordering::SeqCst))?;
    let mouse = if mouse { MOUSE } else { "" };
    write_all(format!("{TAKE}{mouse}").as_bytes()).inspect_err(|_| give_back())
}

/// Begins or ends the reports of the mouse.
///
/// # Errors
/// Errors of the terminal.
pub(super) fn report_mouse(is_on: bool) -> io::Result<()> {
    write_all(
        if is_on {
            MOUSE.to_owned()
        } else {
            MOUSE.replace('h', "l")
        }
        .as_bytes(),
    )
}

/// Gives the terminal back as it was. Does nothing if it is not taken.
pub fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let stdout = io::stdout();
    let mut ready = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut ready, PollTimeout::from(PATIENCE_MS)).is_ok_and(|count| count > 0) {
        _ = write_all(GIVE_BACK.as_bytes()); // no one is left to report an error to
        if SHOWS_PROGRESS.swap(false, Ordering::SeqCst) {
            _ = write_all(NO_PROGRESS.as_bytes()); // likewise
        }
    }
    await_answer();
    _ = terminal::disable_raw_mode(); // likewise
}

/// Notes that a progress indicator is on.
pub(super) fn shows_progress() {
    SHOWS_PROGRESS.store(true, Ordering::SeqCst);
}

/// Sends `question` to the terminal. The reader of the answer calls [`answered`].
///
/// # Errors
/// Errors of writing to the terminal.
pub(super) fn ask(question: &str) -> io::Result<()> {
    *ASKED.lock() = Some(Instant::now());
    write_all(question.as_bytes())
}

/// Notes that the terminal has answered.
pub(super) fn answered() {
    *ASKED.lock() = None;
    ANSWERED.notify_all();
}

/// Waits until another thread has read the pending answer, or discards it after the time limit.
fn await_answer() {
    let mut since = ASKED.lock();
    while let Some(asked) = *since {
        let left = ANSWER_PATIENCE.saturating_sub(asked.elapsed());
        if left.is_zero() {
            *since = None;
            _ = tcflush(io::stdin(), FlushArg::TCIFLUSH); // no one is left to report an error to
            return;
        }
        ANSWERED.wait_for(&mut since, left);
    }
}

/// Writes all of `bytes` to the terminal.
///
/// # Errors
/// Errors of writing to the terminal.
pub fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    let stdout = io::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(stdout.as_fd(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let mut ready = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
                poll(&mut ready, PollTimeout::NONE)?;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Whether the terminal was closed. It has no modes any more, whichever call fails first because of it.
pub fn is_gone() -> bool {
    matches!(tcgetattr(io::stdout()), Err(Errno::EIO))
}

/// Gives the terminal back on drop, even in a panic, and prints the panic messages held back meanwhile.
///
/// For the thread whose end is the end of the process.
#[derive(Debug)]
pub struct TerminalGuard;

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
        for message in take_panic_messages() {
            let message = escape_controls(&message, AllowedEscapes::Plain);
            _ = rustix::io::write(io::stderr().as_fd(), message.as_bytes()); // no one is left to report an error to
        }
    }
}

/// Takes the panic messages that were held back while the terminal was taken.
pub fn take_panic_messages() -> Vec<String> {
    std::mem::take(&mut HELD.lock())
}

/// Installs a hook that keeps panic messages off the screen. Panics proceed as usual.
fn hold_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if TAKEN.load(Ordering::SeqCst) {
                let mut held = HELD.lock();
                held.push(format!("{info}\n"));
            } else {
                others(info);
            }
        }));
    });
}
