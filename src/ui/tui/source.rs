//! Where records and output come from: the loop in this process, or a run of the past.

use std::time::Instant;

use crate::{
    driver::{self, Poll, Subscription},
    event::Record,
};

use super::{model::ReplayState, update::Replay};

/// Ends a wait in [`Source::poll`] from another thread.
pub(super) type Wake = Box<dyn Fn() + Send + Sync>;

pub trait Source {
    /// Waits for the next event until `deadline`, or without an end to it.
    fn poll(&mut self, deadline: Option<Instant>) -> Poll;

    /// Hands over the records from before the first event; there are none in a replay.
    fn past(&mut self, _take: &mut dyn FnMut(&Record)) {}

    fn waker(&self) -> Wake;

    /// The time of what is shown, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// How a replay stands; none for a running loop.
    fn replay(&self) -> Option<ReplayState> {
        None
    }

    /// Carries out what was asked of a replay; returns all records up to the place it jumped to, if it did.
    fn steer(&mut self, _order: Replay) -> Option<Vec<Record>> {
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
