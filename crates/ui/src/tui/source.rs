//! Sources of records and output: the loop in this process or another, or a finished run.

use std::{sync::Arc, time::Instant};

use ralph_core::event::Record;
use ralph_state::control::frames::PollResult;

use super::{
    model::{ReplayState, Timeline},
    order::Replay,
};

/// Ends a wait in [`EventSource::poll`] from another thread.
pub type WakeCallback = Box<dyn Fn() + Send + Sync>;

/// The records up to the target of a jump in a replay.
pub struct PastRecords {
    pub(super) records: Arc<[Record]>,
    pub(super) until: usize,
}

impl PastRecords {
    pub fn records(&self) -> &[Record] {
        &self.records[..self.until.min(self.records.len())]
    }
}

pub trait EventSource {
    /// Waits for the next event until `deadline`, or indefinitely without one.
    fn poll(&mut self, deadline: Option<Instant>) -> PollResult;

    /// Delivers the records before the first event; a replay has none.
    fn past(&mut self, _take: &mut dyn FnMut(&Record)) {}

    fn waker(&self) -> WakeCallback;

    /// The next refusal of an order by the loop, if the records do not contain the answer.
    fn refusal(&mut self) -> Option<String> {
        None
    }

    /// The current time of the run, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// The state of a replay; `None` for a running loop.
    fn replay(&self) -> Option<ReplayState> {
        None
    }

    /// Controls a replay. Returns all records up to the target if it jumped.
    fn steer(&mut self, _order: Replay) -> Option<PastRecords> {
        None
    }

    /// The time span of a replayed run and its iterations.
    fn timeline(&self) -> Option<Timeline> {
        None
    }

    /// Whether the replayed terminal was rendered from signals, if known.
    fn is_transcript(&self) -> Option<bool> {
        None
    }
}
