//! The interface of a dialect: it consumes a program's output and exit, and produces signals.

use ralph_core::event::{AgentSignal, Exit};

use super::clock::ZonedClock;
use crate::usage::EarlierTurns;

/// How a program ended, for a dialect to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish<'a> {
    /// `None` if the guard was killed, and the agent with it.
    pub exit: Option<Exit>,
    /// The last lines on stderr as plain text. Used only if there is no verdict.
    pub stderr: &'a str,
}

/// A parser of one session's output.
pub trait Dialect: Send {
    /// Takes the earlier turns of the session, before all output.
    fn follow(&mut self, _earlier: EarlierTurns) {}
    /// Takes the next bytes, cut at any position, at the time of their arrival.
    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, out: &mut Vec<AgentSignal>);
    /// Takes a line of stderr as plain text. It may contain anything.
    fn stderr_line(&mut self, _line: &str, _clock: &ZonedClock, _out: &mut Vec<AgentSignal>) {}
    /// Whether the program has to be ended: its turn is over, but it would continue forever.
    fn is_stuck(&self) -> bool {
        false
    }
    /// Takes the exit of the program. On return, exactly one `TurnEnded` has been produced.
    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>);
}
