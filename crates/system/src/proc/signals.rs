//! The signals that ralph sends to a guard, and the events that a guard waits for.

use nix::sys::signal::Signal;

use super::StopSpeed;

/// Asks for a graceful stop. SIGTERM does the same for other senders, but a program that terminates its own group sends
/// that one too, and of two pending at once only one is delivered.
pub(super) const STOP_GRACEFULLY: Signal = Signal::SIGUSR2;
/// Asks to stop at once.
pub(super) const STOP_IMMEDIATELY: Signal = Signal::SIGUSR1;

/// Says that nothing more is written to the program's standard input.
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

/// An event that the guard waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardEvent {
    ChildEnded,
    Asked(StopSpeed),
    InputEnded,
    RalphGone,
    Due,
}
