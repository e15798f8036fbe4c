//! Where records and output come from: the loop in this process or in another, or a run of the past.

use std::{sync::Arc, time::Instant};

use ralph_core::event::{Record, RequestedBy, UserCommand};
use ralph_system::proc::Size;

use crate::driver::{self, Handle, Poll, Subscription};

use super::{
    AfterSignal, Reach,
    model::{ReplayState, Timeline},
    update::Replay,
};

/// Ends a wait in [`Source::poll`] from another thread.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// The records up to the place that a replay has jumped to.
pub struct Past {
    pub(super) records: Arc<[Record]>,
    pub(super) until: usize,
}

impl Past {
    pub fn records(&self) -> &[Record] {
        &self.records[..self.until.min(self.records.len())]
    }
}

pub trait Source {
    /// Waits for the next event until `deadline`, or without an end to it.
    fn poll(&mut self, deadline: Option<Instant>) -> Poll;

    /// Hands over the records from before the first event; there are none in a replay.
    fn past(&mut self, _take: &mut dyn FnMut(&Record)) {}

    fn waker(&self) -> Wake;

    /// Why the loop did not take what this screen asked for, if its answer is not among the records.
    fn refusal(&mut self) -> Option<String> {
        None
    }

    /// The time of what is shown, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// How a replay stands; none for a running loop.
    fn replay(&self) -> Option<ReplayState> {
        None
    }

    /// Carries out what was asked of a replay; returns all records up to the place it jumped to, if it did.
    fn steer(&mut self, _order: Replay) -> Option<Past> {
        None
    }

    /// When the run that is played was, and its iterations.
    fn timeline(&self) -> Option<Timeline> {
        None
    }

    /// Whether the terminal that is played was made from signals, where that is known.
    fn is_transcript(&self) -> Option<bool> {
        None
    }
}

/// The loop that runs in this process.
pub struct Live<'a>(pub &'a mut Subscription);

impl Source for Live<'_> {
    fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        self.0.past(take);
    }

    fn poll(&mut self, deadline: Option<Instant>) -> Poll {
        self.0.poll(deadline)
    }

    fn waker(&self) -> Wake {
        let waker = self.0.waker();
        Box::new(move || waker.wake())
    }

    fn now_ms(&self) -> u64 {
        driver::now_ms()
    }
}

/// The loop in this process, which hears of signals itself and ends with it.
impl Reach for Handle {
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String> {
        Handle::command(self, command, by).map_err(|busy| busy.to_string())
    }

    fn cancel_task(&self, number: u32) -> Result<(), String> {
        Handle::cancel_task(self, number).map_err(|busy| busy.to_string())
    }

    fn type_bytes(&self, bytes: Vec<u8>) {
        Handle::type_bytes(self, bytes);
    }

    fn resize(&self, size: Size) {
        Handle::resize(self, size);
    }

    fn signalled(&self, _: RequestedBy) -> AfterSignal {
        AfterSignal::Stays
    }

    fn outlives_screen(&self) -> bool {
        false
    }
}
