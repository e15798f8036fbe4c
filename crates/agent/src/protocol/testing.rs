//! A session for the tests of all protocols.

use ralph_core::event::AgentSignal;
use serde_json::Value;

use super::{Exchange, Protocol, SessionCommand, SessionOpening};
use crate::dialect::ZonedClock;

/// The faults that a schema of others finds in a message that ralph writes.
pub(super) trait Published {
    fn flaw(_written: &Value) -> Option<String> {
        None
    }
}

/// A protocol under test, with the signals and messages it has produced.
pub(super) struct Session<P> {
    pub(super) protocol: P,
    pub(super) clock: ZonedClock,
    pub(super) signals: Vec<AgentSignal>,
    pub(super) written: Vec<Value>,
    pub(super) closed: bool,
}

impl<P: Protocol + Published + Default> Session<P> {
    pub(super) fn begin(opening: SessionOpening) -> Self {
        let mut session = Self {
            protocol: P::default(),
            clock: ZonedClock::at("2026-11-20T10:00:00Z"),
            signals: Vec::new(),
            written: Vec::new(),
            closed: false,
        };
        session.with(|protocol, _, exchange| protocol.start(opening, exchange));
        session
    }

    pub(super) fn with(&mut self, act: impl FnOnce(&mut P, &ZonedClock, &mut Exchange)) {
        let mut exchange = Exchange::default();
        act(&mut self.protocol, &self.clock, &mut exchange);
        self.signals.append(&mut exchange.signals);
        let lines = String::from_utf8(exchange.input).unwrap();
        assert!(lines.is_empty() || lines.ends_with('\n'), "{lines}");
        for line in lines.lines() {
            let message = serde_json::from_str(line).expect("one object a line");
            assert_eq!(P::flaw(&message), None, "{message}");
            self.written.push(message);
        }
        self.closed |= exchange.close;
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.with(|protocol, clock, exchange| protocol.feed(bytes, clock, exchange));
    }

    pub(super) fn hear(&mut self, message: &Value) {
        self.feed(format!("{message}\n").as_bytes());
    }

    pub(super) fn tell(&mut self, command: SessionCommand) {
        self.with(|protocol, _, exchange| protocol.command(command, exchange));
    }

    pub(super) fn verdicts(&self) -> Vec<(bool, Option<&str>)> {
        let ended = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::TurnEnded { ok, message } => Some((*ok, message.as_deref())),
            _ => None,
        });
        ended.collect()
    }

    pub(super) fn answered(&self) -> Vec<(u32, bool)> {
        let answers = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::MessageAnswered { id, taken, .. } => Some((id.0, *taken)),
            _ => None,
        });
        answers.collect()
    }
}
