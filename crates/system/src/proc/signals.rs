//! The signals by which a guard is spoken to, and what it can hear while it waits.

use nix::sys::signal::Signal;

use super::Stop;

/// How ralph asks for a graceful stop. Terminate does the same for other senders, but a program that terminates its
/// own group sends that one too, and of two that are pending at once only one is seen.
pub(super) const STOP_GRACEFULLY: Signal = Signal::SIGUSR2;
/// How ralph asks to stop at once.
pub(super) const STOP_IMMEDIATELY: Signal = Signal::SIGUSR1;

/// How ralph says that nothing more is written to the program's standard input.
pub(super) const INPUT_ENDED: Signal = Signal::SIGURG;

/// Signals that the guard reads instead of dying from them.
pub(super) const SIGNALS: [Signal; 9] = [
    Signal::SIGCHLD,
    STOP_GRACEFULLY,
    STOP_IMMEDIATELY,
    INPUT_ENDED,
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTSTP,
    Signal::SIGHUP,
];

/// Something the guard was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    ChildEnded,
    Asked(Stop),
    InputEnded,
    RalphGone,
    Due,
}
