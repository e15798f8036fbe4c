//! Sources of records and output: the loop in this process or another, or a finished run.

use std::{sync::Arc, time::Instant};

use ralph_core::event::{Record, RequestedBy, UserCommand};
use ralph_system::proc::Size;

use crate::{
    driver::LoopHandle,
    hub::{PollResult, Subscription},
};

use super::{
    AfterSignal, LoopControl,
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

/// The loop in this process.
pub struct LiveSource<'a>(pub &'a mut Subscription);

impl EventSource for LiveSource<'_> {
    fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        self.0.past(take);
    }

    fn poll(&mut self, deadline: Option<Instant>) -> PollResult {
        self.0.poll(deadline)
    }

    fn waker(&self) -> WakeCallback {
        let waker = self.0.waker();
        Box::new(move || waker.wake())
    }

    fn now_ms(&self) -> u64 {
        ralph_system::os::now_ms()
    }
}

/// The loop in this process, which handles signals itself and ends with the process.
impl LoopControl for LoopHandle {
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String> {
        LoopHandle::command(self, command, by).map_err(|busy| busy.to_string())
    }

    fn cancel_task(&self, number: u32) -> Result<(), String> {
        LoopHandle::cancel_task(self, number).map_err(|busy| busy.to_string())
    }

    fn type_bytes(&self, bytes: Vec<u8>) {
        LoopHandle::type_bytes(self, bytes);
    }

    fn resize(&self, size: Size) {
        LoopHandle::resize(self, size);
    }

    fn signalled(&self, _: RequestedBy) -> AfterSignal {
        AfterSignal::Stays
    }

    fn outlives_screen(&self) -> bool {
        false
    }
}
