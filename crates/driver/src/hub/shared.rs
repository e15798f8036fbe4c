//! The state that the ends of a hub share: the backlog, and the position of each subscriber in it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::backlog::{Backlog, OUTPUT_CAP_BYTES, SubscriberPosition};

/// The events that a subscriber gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamMode {
    Everything,
    /// All records and details, and only the latest output, a few times a second: for one of many subscribers, since
    /// each costs the agent some time.
    Latest,
    /// Records and details, and no output of terminals.
    NoOutput,
}

/// Ends the wait of a subscriber, which may be a thread or a task.
#[derive(Debug, Clone, Default)]
pub(super) struct SubscriberWake {
    thread: Arc<Condvar>,
    task: Arc<Notify>,
}

impl SubscriberWake {
    pub(super) fn wake(&self) {
        self.thread.notify_one();
        // Remembered for a task that is about to wait.
        self.task.notify_one();
    }

    pub(super) fn thread(&self) -> &Condvar {
        &self.thread
    }

    pub(super) fn task(&self) -> &Notify {
        &self.task
    }
}

/// The treatment of a subscriber that is slower than the agent's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LagPolicy {
    /// The agent waits: for what the owner of the run sees, which has to be whole.
    HoldAgentBack,
    /// The agent waits, but not for a subscriber that takes nothing for two seconds: a screen may be frozen, or at the
    /// other end of a lost connection. From then on the subscriber skips, until it has caught up.
    HoldAgentBriefly,
    /// The subscriber misses output and is told how much.
    Skip,
}

/// How long an agent waits for a screen in another process that takes nothing.
pub(super) const HOLD_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct SharedHub {
    pub(super) journal: PathBuf,
    /// How long the agent waits for a subscriber that holds it back briefly and takes nothing.
    pub(super) patience: Duration,
    pub(super) state: Mutex<HubState>,
    /// Notified when a subscriber has taken something, or has gone.
    pub(super) taken: Condvar,
}

#[derive(Debug)]
pub(super) struct HubState {
    pub(super) backlog: Backlog,
    pub(super) subscribers: BTreeMap<u64, Subscriber>,
    /// Number of subscribers ever made, and the next one's number.
    pub(super) numbered: u64,
    /// Whether no subscriber can hold the agent back.
    pub(super) lossy: bool,
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) struct Subscriber {
    pub(super) position: SubscriberPosition,
    pub(super) lag_policy: LagPolicy,
    pub(super) mode: StreamMode,
    /// When it last took something.
    pub(super) took: Instant,
    /// Whether the agent has waited long enough for it: it skips until it has caught up.
    pub(super) lapsed: bool,
    /// Ends its wait.
    pub(super) wake: SubscriberWake,
    /// Whether it waits for the next event.
    pub(super) waits: bool,
    /// Whether its next poll is to return early, because another thread woke it.
    pub(super) woken: bool,
    /// Whether it has taken everything and knows that nothing more comes.
    pub(super) is_through: bool,
}

impl Subscriber {
    fn notify(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.wake.wake();
        }
    }
}

impl SharedHub {
    pub(super) fn new(journal: PathBuf, published: u64, patience: Duration) -> Self {
        let state = HubState {
            backlog: Backlog::new(published),
            subscribers: BTreeMap::new(),
            numbered: 0,
            lossy: false,
            closed: false,
        };
        Self {
            journal,
            patience,
            state: Mutex::new(state),
            taken: Condvar::new(),
        }
    }
}

impl HubState {
    /// Wakes the subscribers that wait for a record or a detail. A resting or busy subscriber is left alone.
    pub(super) fn notify_all(&mut self) {
        self.subscribers.values_mut().for_each(Subscriber::notify);
    }

    /// Wakes the subscribers that wait for output.
    pub(super) fn notify_output(&mut self) {
        self.subscribers
            .values_mut()
            .filter(|subscriber| subscriber.mode != StreamMode::NoOutput)
            .for_each(Subscriber::notify);
    }

    /// Returns the subscribers that may hold the agent back.
    pub(super) fn holders(&self) -> impl Iterator<Item = &Subscriber> {
        self.subscribers.values().filter(|subscriber| subscriber.holds())
    }

    /// Makes subscribers skip from now on that take nothing, if an agent has waited for them since `since` for at least
    /// `patience`. Returns when to check again; `None` if no subscriber's patience can end.
    pub(super) fn lapse(&mut self, since: Instant, now: Instant, patience: Duration) -> Option<Instant> {
        let backlog = &self.backlog;
        let behind = self.subscribers.values_mut().filter(|subscriber| {
            subscriber.lag_policy == LagPolicy::HoldAgentBriefly
                && subscriber.holds()
                && backlog.unread_bytes(&subscriber.position) >= OUTPUT_CAP_BYTES
        });
        let mut next: Option<Instant> = None;
        for subscriber in behind {
            let ends = subscriber.took.max(since) + patience;
            if ends <= now {
                subscriber.lapsed = true;
            } else {
                next = next.into_iter().chain([ends]).min();
            }
        }
        next
    }

    /// Whether output has to wait until a subscriber has taken some.
    pub(super) fn is_full(&self) -> bool {
        let is_behind = |holder: &Subscriber| self.backlog.unread_bytes(&holder.position) >= OUTPUT_CAP_BYTES;
        !self.lossy && self.holders().any(is_behind)
    }

    pub(super) fn add_output(&mut self, bytes: &[u8]) {
        let needed = self.holders().map(|holder| holder.position.offset()).min();
        self.backlog.add_output(bytes, needed.filter(|_| !self.lossy));
    }
}

impl Subscriber {
    /// Whether the agent waits for it.
    pub(super) fn holds(&self) -> bool {
        match self.lag_policy {
            LagPolicy::HoldAgentBack => true,
            LagPolicy::HoldAgentBriefly => !self.lapsed,
            LagPolicy::Skip => false,
        }
    }
}
