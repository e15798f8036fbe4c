//! A subscriber's end of a hub.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_core::event::Record;
use ralph_state::{
    control::frames::{PollResult, UiEvent, next_event},
    store::journal::JournalReader,
};

use super::{
    backlog::NextItem,
    shared::{HubState, LagPolicy, SharedHub, StreamMode, Subscriber, SubscriberWake},
};

/// How long a subscriber that skips rests after it has read everything. Twenty of them would otherwise be woken at each
/// write of an agent, and take the processor from it.
const REST: Duration = Duration::from_millis(33);
/// How long a subscriber to the latest output rests: encoding and sending its bytes costs more than handing them over.
const LONG_REST: Duration = Duration::from_millis(100);

/// Wakes a subscriber that waits in [`Subscription::poll`] for another reason: a key, the end of a job.
#[derive(Debug, Clone)]
pub struct Waker {
    shared: Arc<SharedHub>,
    number: u64,
}

impl Waker {
    pub fn wake(&self) {
        // A missing entry means that the subscriber has gone.
        if let Some(subscriber) = self.shared.state.lock().subscribers.get_mut(&self.number) {
            subscriber.woken = true;
            subscriber.wake.wake();
        }
    }
}

/// Follows a run from a position of its own. Gets every record: those that the hub has dropped are read from the
/// journal.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<SharedHub>,
    number: u64,
    wake: SubscriberWake,
    /// The first record that is handed over.
    first: u64,
    /// Records that come next and are only in the journal.
    missing: Range<u64>,
    /// Reads the missing records. Kept from one gap to the next: it never has to go back.
    reader: Option<JournalReader>,
    /// Until then, only the end of the run is looked for.
    rests_until: Option<Instant>,
}

impl Subscription {
    pub(super) fn new(shared: Arc<SharedHub>, first: u64, when_slow: LagPolicy) -> Self {
        let wake = SubscriberWake::default();
        let mut state = shared.state.lock();
        let number = state.numbered;
        state.numbered += 1;
        let subscriber = Subscriber {
            position: state.backlog.position(first),
            lag_policy: when_slow,
            mode: StreamMode::Everything,
            took: Instant::now(),
            lapsed: false,
            wake: wake.clone(),
            waits: false,
            woken: false,
            is_through: false,
        };
        state.subscribers.insert(number, subscriber);
        drop(state);
        Self {
            shared,
            number,
            wake,
            first,
            missing: 0..0,
            reader: None,
            rests_until: None,
        }
    }

    /// Waits for the next event until `deadline`, or without limit.
    pub fn poll(&mut self, deadline: Option<Instant>) -> PollResult {
        loop {
            if let Some(record) = self.next_missing() {
                return PollResult::Event(UiEvent::Record(Arc::new(record)));
            }
            match self.receive(deadline) {
                ReceivedItem::Poll(poll) => return poll,
                ReceivedItem::Missing(missing) => self.missing = missing,
            }
        }
    }

    /// Waits for the next event in a task; `None` when the loop is over and everything was taken. A [`Waker`] does not
    /// end the wait. Cancel safe.
    pub async fn next_event(&mut self) -> Option<UiEvent> {
        loop {
            if let Some(record) = self.next_missing() {
                return Some(UiEvent::Record(Arc::new(record)));
            }
            let shared = Arc::clone(&self.shared);
            let received = self.take(&mut shared.state.lock(), Instant::now());
            match (received, self.rests_until) {
                (Some(ReceivedItem::Poll(PollResult::Event(event))), _) => return Some(event),
                (Some(ReceivedItem::Poll(PollResult::Over)), _) => return None,
                (Some(ReceivedItem::Poll(PollResult::Woken)), _) => {}
                (Some(ReceivedItem::Missing(missing)), _) => self.missing = missing,
                (None, None) => self.wake.task().notified().await,
                // During a rest, the end of the run still wakes the task.
                (None, Some(until)) => {
                    tokio::select! {
                        () = self.wake.task().notified() => {}
                        () = tokio::time::sleep_until(until.into()) => {}
                    }
                }
            }
        }
    }

    /// Hands over all events that are available now, without waiting.
    pub fn take_all(&mut self, take: &mut dyn FnMut(UiEvent)) {
        self.rests_until = None;
        while let PollResult::Event(event) = self.poll(Some(Instant::now())) {
            take(event);
        }
    }

    /// Selects the events that it gets from here on.
    pub(super) fn set_mode(&mut self, mode: StreamMode) {
        if let Some(subscriber) = self.shared.state.lock().subscribers.get_mut(&self.number) {
            subscriber.mode = mode;
        }
    }

    /// Skips the output before the first `from` bytes of `iteration`. Returns how many bytes of the iteration come
    /// before the next output, and how many there are; `None` if it is not the iteration that began last.
    pub(super) fn begin_at(&mut self, iteration: u32, from: u64) -> Option<(u64, u64)> {
        let mut state = self.shared.state.lock();
        let HubState {
            subscribers, backlog, ..
        } = &mut *state;
        let subscriber = subscribers.get_mut(&self.number)?;
        backlog.begin_at(&mut subscriber.position, iteration, from)
    }

    /// Hands over the records from before the first event, one at a time. Stops at a part of the journal that cannot be
    /// read.
    pub fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        let Ok(mut reader) = JournalReader::open(&self.shared.journal) else {
            return;
        };
        reader.read_before(self.first, take);
        // The reader is at the beginning of the first gap, or before it.
        self.reader = Some(reader);
    }

    /// Returns a way to end a wait in [`Subscription::poll`] from another thread.
    pub fn waker(&self) -> Waker {
        Waker {
            shared: Arc::clone(&self.shared),
            number: self.number,
        }
    }

    /// Reads the next of the missing records.
    fn next_missing(&mut self) -> Option<Record> {
        while !self.missing.is_empty() {
            if self.reader.is_none() {
                self.reader = JournalReader::open(&self.shared.journal).ok();
            }
            let first = self.missing.start;
            let record = self.reader.as_mut().and_then(|reader| {
                reader.skip_to(first).ok()?;
                reader.next_record().ok()?
            });
            // If the journal cannot be read, a gap in the events is better than an endless wait.
            let Some(record) = record.filter(|record| record.seq < self.missing.end) else {
                self.missing = 0..0;
                return None;
            };
            if record.seq >= self.missing.start {
                self.missing.start = record.seq + 1;
                return Some(record);
            }
        }
        None
    }

    fn receive(&mut self, deadline: Option<Instant>) -> ReceivedItem {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.lock();
        loop {
            let now = Instant::now();
            if let Some(received) = self.take(&mut state, now) {
                return received;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return ReceivedItem::Poll(PollResult::Woken);
            }
            match self.rests_until.into_iter().chain(deadline).min() {
                None => self.wake.thread().wait(&mut state),
                Some(until) => _ = self.wake.thread().wait_until(&mut state, until),
            }
        }
    }

    /// Takes the next item; `None` if all were taken or the subscriber rests.
    fn take(&mut self, state: &mut HubState, now: Instant) -> Option<ReceivedItem> {
        let closed = state.closed;
        let subscriber = state
            .subscribers
            .get_mut(&self.number)
            .expect("a subscription is listed until it is dropped");
        subscriber.waits = false;
        if std::mem::take(&mut subscriber.woken) {
            return Some(ReceivedItem::Poll(PollResult::Woken));
        }
        if !closed && self.rests_until.is_some_and(|until| now < until) {
            return None;
        }
        self.rests_until = None;
        let next = match subscriber.mode {
            StreamMode::Everything => state.backlog.next(&mut subscriber.position),
            StreamMode::Latest => state.backlog.next_of_latest(&mut subscriber.position),
            StreamMode::NoOutput => state.backlog.next_but_output(&mut subscriber.position),
        };
        subscriber.took = now;
        let caught_up = state.backlog.is_read(&subscriber.position);
        subscriber.lapsed &= !caught_up;
        match subscriber.lag_policy {
            LagPolicy::HoldAgentBack | LagPolicy::HoldAgentBriefly => _ = self.shared.taken.notify_all(),
            LagPolicy::Skip if next.is_some() && caught_up => {
                let rest = match subscriber.mode {
                    StreamMode::Latest => LONG_REST,
                    StreamMode::Everything | StreamMode::NoOutput => REST,
                };
                self.rests_until = Some(now + rest);
            }
            LagPolicy::Skip => {}
        }
        match next {
            Some(NextItem::Event(event)) => Some(ReceivedItem::Poll(PollResult::Event(event))),
            Some(NextItem::Journal(missing)) => Some(ReceivedItem::Missing(missing)),
            None => {
                subscriber.is_through = closed;
                subscriber.waits = !closed;
                closed.then_some(ReceivedItem::Poll(PollResult::Over))
            }
        }
    }
}

enum ReceivedItem {
    Poll(PollResult),
    /// Records that have to be read from the journal first.
    Missing(Range<u64>),
}

/// Each step waits for the next event; the iterator ends when the loop is over and everything was taken.
impl Iterator for Subscription {
    type Item = UiEvent;

    fn next(&mut self) -> Option<UiEvent> {
        next_event(|| self.poll(None))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.state.lock().subscribers.remove(&self.number);
        self.shared.taken.notify_all();
    }
}
