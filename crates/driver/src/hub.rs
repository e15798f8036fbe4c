//! Passes records, details and terminal output from the loop to its subscribers, in the order in which they happened.
//!
//! Stop 8 of the tour in ARCHITECTURE.md.
//!
//! Any number of subscribers follow a run, each from a position of its own and at its own speed. A slow one does not
//! affect the others. What it misses depends on the kind: records are read from the journal, which always has them; for
//! output and details it is told how much it missed. Only a subscriber with [`LagPolicy::HoldAgentBack`], used for what
//! the owner of the run sees, slows the agent instead, and nothing but the agent. A screen of another process holds it
//! [briefly](LagPolicy::HoldAgentBriefly): a frozen terminal never stops a run.

mod backlog;
mod ring;
mod shared;
mod subscription;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_agent::Display;
use ralph_core::event::{AgentSignal, Record};
use ralph_state::control::frames::SignalDetail;

use shared::{HOLD_PATIENCE, SharedHub};

pub use shared::{LagPolicy, StreamMode};
pub use subscription::{Subscription, Waker};

/// The output of an iteration's terminal, as far as the hub still has it.
#[derive(Debug)]
pub struct TerminalOutput {
    /// Number of bytes before the first that `subscription` gets.
    pub start: u64,
    /// Number of bytes shown so far.
    pub end: u64,
    pub subscription: Subscription,
}

/// The loop's end.
#[derive(Debug, Clone)]
pub struct Hub(Arc<SharedHub>);

impl Hub {
    /// Makes a hub for the run whose records are in `journal`, which already has those before `published`.
    pub fn new(journal: &Path, published: u64) -> Self {
        Self::with_patience(journal, published, HOLD_PATIENCE)
    }

    fn with_patience(journal: &Path, published: u64, patience: Duration) -> Self {
        Self(Arc::new(SharedHub::new(journal.to_owned(), published, patience)))
    }

    /// Returns the end of a new subscriber, which has seen the records before `first`.
    ///
    /// It gets all records from there on, even if it comes late, and the terminal output that the hub has kept of the
    /// iteration that it knows of.
    pub fn subscribe(&self, first: u64, when_slow: LagPolicy) -> Subscription {
        Subscription::new(Arc::clone(&self.0), first, when_slow)
    }

    /// Returns the end of a new subscriber that skips what it is too slow for. `mode` selects the output that it gets.
    pub fn follow(&self, first: u64, mode: StreamMode) -> Subscription {
        let mut subscription = self.subscribe(first, LagPolicy::Skip);
        subscription.set_mode(mode);
        subscription
    }

    /// Returns the number of the record that is published next.
    pub fn published(&self) -> u64 {
        self.0.state.lock().backlog.published()
    }

    /// Returns the end of a new subscriber to the output of `iteration` after its first `from` bytes, and to the
    /// records from `first` on. `None` if that is not the iteration that began last.
    pub fn terminal(&self, iteration: u32, from: u64, first: u64) -> Option<TerminalOutput> {
        let mut subscription = self.subscribe(first, LagPolicy::Skip);
        let (start, end) = subscription.begin_at(iteration, from)?;
        Some(TerminalOutput {
            start,
            end,
            subscription,
        })
    }

    /// Publishes a record that is in the journal. Never waits.
    pub fn publish(&self, record: Record) {
        let mut state = self.0.state.lock();
        state.backlog.add_record(record);
        state.notify_all();
    }

    /// Publishes a signal that is not recorded. Never waits.
    pub fn publish_detail(&self, at_ms: u64, iteration: u32, signal: &AgentSignal) {
        let detail = SignalDetail {
            at_ms,
            iteration,
            signal: signal.bounded(),
            missed: 0,
        };
        let mut state = self.0.state.lock();
        state.backlog.add_detail(detail);
        state.notify_all();
    }

    /// Publishes terminal output; waits while a subscriber that may hold the agent back is behind.
    pub fn output(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.0.state.lock();
        let since = Instant::now();
        while state.is_full() {
            let now = Instant::now();
            let look_again = state.lapse(since, now, self.0.patience);
            if !state.is_full() {
                break;
            }
            match look_again {
                None => self.0.taken.wait(&mut state),
                Some(then) => _ = self.0.taken.wait_until(&mut state, then),
            }
        }
        state.add_output(bytes);
        state.notify_output();
    }

    /// Sets whether output is published without waiting for subscribers. Needed while a session is being ended: a
    /// terminal that was stopped with Ctrl-S would keep back the session's last output for ever.
    pub fn set_lossy(&self, lossy: bool) {
        self.0.state.lock().lossy = lossy;
        self.0.taken.notify_all();
    }

    /// Announces that nothing more comes, and waits until the subscribers that may hold the agent back have taken
    /// everything, or until `patience` is over.
    pub fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.0.state.lock();
        state.closed = true;
        for subscriber in state.subscribers.values() {
            subscriber.wake.wake();
        }
        while !state.holders().all(|holder| holder.is_through) {
            if self.0.taken.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }
}

/// Shows a session's terminal output to the subscribers.
impl Display for Hub {
    fn show(&mut self, bytes: &[u8]) {
        self.output(bytes);
    }
}
