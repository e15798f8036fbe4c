//! The interface of a dialect: it consumes a program's output and exit, and produces signals.

use ralph_core::event::{AgentSignal, Exit};
use serde_json::Value;

use super::{clock::ZonedClock, lines::JsonLineParser};
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

/// One turn, built from JSON objects, one per line. Its functions are those of [`Dialect`].
pub(crate) trait JsonTurn: Default + Send {
    fn follow(&mut self, _earlier: EarlierTurns) {}

    fn take(&mut self, object: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>);

    fn stderr_line(&mut self, _line: &str, _clock: &ZonedClock, _out: &mut Vec<AgentSignal>) {}

    fn is_stuck(&self) -> bool {
        false
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>);
}

/// A dialect of JSON objects.
#[derive(Debug, Default)]
pub(crate) struct JsonDialect<T> {
    objects: JsonLineParser,
    turn: T,
}

impl<T: JsonTurn> Dialect for JsonDialect<T> {
    fn follow(&mut self, earlier: EarlierTurns) {
        self.turn.follow(earlier);
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Self { objects, turn } = self;
        objects.feed(bytes, out, |object, out| turn.take(&Value::Object(object), clock, out));
    }

    fn stderr_line(&mut self, line: &str, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        self.turn.stderr_line(line, clock, out);
    }

    fn is_stuck(&self) -> bool {
        self.turn.is_stuck()
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Self { objects, turn } = self;
        objects.finish(out, |object, out| turn.take(&Value::Object(object), clock, out));
        turn.finish(finish, clock, out);
    }
}
