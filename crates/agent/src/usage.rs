//! Computes the usage of single turns for agents that report sums over a session.
//!
//! A continued codex session reports the sum over all its turns. Unchanged, it would count every turn again with each
//! later one.

use std::sync::Arc;

use parking_lot::Mutex;
use ralph_core::event::{SessionId, Usage};

/// Remembers the last session's sum. Shared by the sessions of one adapter.
#[derive(Debug, Default)]
pub(crate) struct TurnUsageMeter {
    last: Mutex<Option<(SessionId, Usage)>>,
}

impl TurnUsageMeter {
    /// The usage since the session's last report. `None`, rather than too much, for a continued session whose earlier
    /// sum is unknown, as after a restart of ralph.
    pub(super) fn turn(&self, session: Option<&SessionId>, continued: bool, total: Usage) -> Option<Usage> {
        let mut last = self.last.lock();
        let before = last
            .take()
            .filter(|(id, _)| Some(id) == session)
            .map(|(_, usage)| usage);
        *last = session.map(|id| (id.clone(), total));
        match before {
            Some(before) => Some(total.since(before)),
            None if continued => None,
            None => Some(total),
        }
    }
}

/// The earlier turns of a session, for a dialect whose reports may sum them up.
#[derive(Debug, Clone)]
pub struct EarlierTurns {
    pub(crate) meter: Arc<TurnUsageMeter>,
    /// Whether the session was begun by an earlier turn.
    pub(crate) is_continued: bool,
}

impl EarlierTurns {
    /// As [`TurnUsageMeter::turn`].
    pub(crate) fn subtracted(&self, session: Option<&SessionId>, total: Usage) -> Option<Usage> {
        self.meter.turn(session, self.is_continued, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            ..Usage::default()
        }
    }

    fn session(id: &str) -> SessionId {
        SessionId(id.to_owned())
    }

    #[test]
    fn each_turn_of_a_session_counts_for_itself() {
        let meter = TurnUsageMeter::default();
        let a = session("a");
        assert_eq!(meter.turn(Some(&a), false, tokens(100)), Some(tokens(100)));
        assert_eq!(meter.turn(Some(&a), true, tokens(150)), Some(tokens(50)));
        assert_eq!(meter.turn(Some(&a), true, tokens(155)), Some(tokens(5)));
        assert_eq!(meter.turn(Some(&session("b")), false, tokens(7)), Some(tokens(7)));
    }

    #[test]
    fn a_continued_session_whose_sum_is_not_known_counts_from_its_next_turn() {
        let meter = TurnUsageMeter::default();
        let a = session("a");
        assert_eq!(meter.turn(Some(&a), true, tokens(900)), None);
        assert_eq!(meter.turn(Some(&a), true, tokens(910)), Some(tokens(10)));
    }
}
