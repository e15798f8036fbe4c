//! From the loop to those who follow it: records, details and terminal output, in the order in which they happened.
//!
//! Stop 8 of the tour in ARCHITECTURE.md.
//!
//! Any number of subscribers follow a run, each from a position of its own and at its own speed. A slow one costs the
//! others nothing. What it misses depends on the kind: records it reads from the journal, where they are already; of
//! output and details it is told how much it missed. Only a subscriber that was asked for as
//! [`WhenSlow::HoldAgentBack`], which is what the owner of the run looks at, slows the agent instead, and nothing but the
//! agent. A screen of another process holds it [briefly](WhenSlow::HoldAgentBriefly): nobody's frozen terminal stops a run.

mod backlog;
mod event;
mod ring;
mod shared;
mod subscription;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use ralph_agent::Display;
use ralph_core::event::{AgentSignal, Record};

use shared::{HOLD_PATIENCE, Shared};

pub use event::{Detail, UiEvent};
pub use shared::{Wants, WhenSlow};
pub use subscription::{Poll, Subscription, Waker};

/// The output of an iteration's terminal, as far as the hub has it still.
#[derive(Debug)]
pub struct Terminal {
    /// So many bytes are before the first that `subscription` gets.
    pub start: u64,
    /// So many bytes were shown by now.
    pub end: u64,
    pub subscription: Subscription,
}

/// The loop's end.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Shared>);

impl Hub {
    /// A hub for the run whose records are in `journal`, which has those before `published` already.
    pub fn new(journal: &Path, published: u64) -> Self {
        Self::with_patience(journal, published, HOLD_PATIENCE)
    }

    fn with_patience(journal: &Path, published: u64, patience: Duration) -> Self {
        Self(Arc::new(Shared::new(journal.to_owned(), published, patience)))
    }

    /// Returns the end of a new subscriber, who has seen the records before `first`.
    ///
    /// However late it comes, it gets all records from there on, and of the terminal what the hub has kept of the iteration
    /// that it knows of.
    pub fn subscribe(&self, first: u64, when_slow: WhenSlow) -> Subscription {
        Subscription::new(Arc::clone(&self.0), first, when_slow)
    }

    /// Returns the end of a new subscriber that skips what it is too slow for. Of output it gets what `wants` says.
    pub fn follow(&self, first: u64, wants: Wants) -> Subscription {
        let mut subscription = self.subscribe(first, WhenSlow::Skip);
        subscription.want(wants);
        subscription
    }

    /// The number of the record that is published next.
    pub fn published(&self) -> u64 {
        self.0.lock().backlog.published()
    }

    /// Returns the end of a new subscriber to the output of `iteration` after `from` bytes of it, and to the records from `first`
    /// on; none if that is not the iteration that began last.
    pub fn terminal(&self, iteration: u32, from: u64, first: u64) -> Option<Terminal> {
        let mut subscription = self.subscribe(first, WhenSlow::Skip);
        let (start, end) = subscription.begin_at(iteration, from)?;
        Some(Terminal {
            start,
            end,
            subscription,
        })
    }

    /// Publishes a record that is in the journal. Never waits.
    pub fn publish(&self, record: Record) {
        let mut state = self.0.lock();
        state.backlog.add_record(record);
        state.tell();
    }

    /// Shows a signal that is no record. Never waits.
    pub fn tell(&self, at_ms: u64, iteration: u32, signal: &AgentSignal) {
        let detail = Detail {
            at_ms,
            iteration,
            signal: signal.bounded(),
            missed: 0,
        };
        let mut state = self.0.lock();
        state.backlog.add_detail(detail);
        state.tell();
    }

    /// Publishes terminal output; waits while a subscriber that may hold the agent back is behind.
    pub fn output(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.0.lock();
        let since = Instant::now();
        while state.is_full() {
            let now = Instant::now();
            let look_again = state.lapse(since, now, self.0.patience);
            if !state.is_full() {
                break;
            }
            state = match look_again.map(|then| then.saturating_duration_since(now)) {
                None => self.0.taken.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.0.taken.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.add_output(bytes);
        state.tell_output();
    }

    /// Chooses whether output waits for anyone. While a session is being ended it must not: a terminal that was stopped
    /// with Ctrl-S would keep the session's last word back for ever.
    pub fn set_lossy(&self, lossy: bool) {
        self.0.lock().lossy = lossy;
        self.0.taken.notify_all();
    }

    /// Says that nothing more comes, and waits until those who may hold the agent back have taken everything, or
    /// `patience` is over.
    pub fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.0.lock();
        state.closed = true;
        for subscriber in state.subscribers.values() {
            subscriber.wake.wake();
        }
        while !state.holders().all(|holder| holder.is_through) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self
                .0
                .taken
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// A session's terminal output goes to the subscribers, too.
impl Display for Hub {
    fn show(&mut self, bytes: &[u8]) {
        self.output(bytes);
    }
}
