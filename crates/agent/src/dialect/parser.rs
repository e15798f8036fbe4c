//! What a dialect is: it takes a program's output and its end, and gives signals.

use ralph_core::event::{AgentSignal, Exit};

use super::clock::Clock;

/// How a program ended, for a dialect to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish<'a> {
    /// None if its guard was killed, and the agent with it.
    pub exit: Option<Exit>,
    /// The last lines of what it wrote beside its signals, as plain text. Counts only where there is no verdict.
    pub stderr: &'a str,
}

/// A parser of one session's output.
pub trait Dialect: Send {
    /// Takes the next bytes, cut anywhere, at the time they arrive.
    fn feed(&mut self, bytes: &[u8], clock: &Clock, out: &mut Vec<AgentSignal>);
    /// Takes a line that the program wrote beside its signals, to stderr, as plain text. Anything may be in it.
    fn stderr_line(&mut self, _line: &str, _clock: &Clock, _out: &mut Vec<AgentSignal>) {}
    /// Whether the program has to be ended: its turn is over, and it would go on for ever.
    fn is_stuck(&self) -> bool {
        false
    }
    /// Takes the end. Exactly one `TurnEnded` has been given when this returns.
    fn finish(&mut self, finish: Finish<'_>, clock: &Clock, out: &mut Vec<AgentSignal>);
}
