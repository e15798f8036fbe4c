//! From the loop to the face that shows it: one queue of records and terminal output, in the order they happened.
//!
//! What when full: output waits, which slows the agent and nothing else; a record is left out, because the loop must
//! not wait for a slow terminal, and the face reads it from the journal, where it is already; a detail that the journal
//! does not keep is counted.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    agent::Display,
    event::{AgentSignal, Record},
    proc::Size,
    store::journal::Reader,
};

const OUTPUT_CAP_BYTES: usize = 256 * 1024;
const RECORD_CAP: usize = 4096;
const DETAIL_CAP: usize = 512;

/// What a face is told.
#[derive(Debug, Clone, PartialEq)]
pub enum FaceMessage {
    Record(Box<Record>),
    /// Bytes of the running session's terminal.
    Output(Vec<u8>),
    /// The terminal has another size from here on: in replays, where it is not the face that chooses it.
    Resized(Size),
    /// What an agent reported beyond what the journal keeps.
    Detail(Box<Detail>),
    /// So much output was left out because the face did not keep up while a session was being ended.
    Dropped {
        bytes: u64,
    },
}

/// A signal that is shown and not kept: a face that lags does without it.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    pub at_ms: u64,
    pub iteration: u32,
    pub signal: AgentSignal,
    /// So many before it were left out because the face did not keep up.
    pub missed: u64,
}

/// What [`Feed::poll`] comes back with.
#[derive(Debug, Clone, PartialEq)]
pub enum Polled {
    Message(FaceMessage),
    /// The time is up, or somebody used a [`Waker`].
    Woken,
    /// The loop is over and everything was taken.
    Over,
}

/// The loop's end of the queue.
#[derive(Debug, Clone, Default)]
pub struct Bus(Arc<Shared>);

/// Makes a face that waits in [`Feed::poll`] look at something else: a key, the end of a job.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Shared>);

impl Waker {
    pub fn wake(&self) {
        self.0.lock().woken = true;
        self.0.filled.notify_one();
    }
}

/// The face's end of the queue. Records that did not fit into it are read from the journal, so none is missing.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    journal: PathBuf,
    /// The next record the face has to see.
    next_seq: u64,
    /// A record that came after a gap, which is filled first.
    ahead: Option<Box<Record>>,
    /// Fills gaps. Kept from one to the next: it never has to go back.
    reader: Option<Reader>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<FaceMessage>,
    output_bytes: usize,
    records: usize,
    details: usize,
    /// The newest detail, if it did not fit: it comes when there is room, in place of those since the last that did.
    newest: Option<Box<Detail>>,
    dropped_bytes: u64,
    /// Output that does not fit is dropped instead of waiting.
    lossy: bool,
    closed: bool,
    /// The face has been told so, after everything else.
    over: bool,
    detached: bool,
    /// The face is to look at something else, once.
    woken: bool,
    /// Sequence number after the latest published record.
    published: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds the lock; if one did, the queue would still be a queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bus {
    /// Returns the other end, for the one face of this loop, which has seen the records before `next_seq`.
    pub fn feed(&self, journal: &Path, next_seq: u64) -> Feed {
        Feed {
            shared: Arc::clone(&self.0),
            journal: journal.to_owned(),
            next_seq,
            ahead: None,
            reader: None,
        }
    }

    /// Publishes a record that is in the journal. Never waits.
    pub fn publish(&self, record: &Record) {
        let mut queue = self.0.lock();
        queue.published = record.seq + 1;
        if queue.records < RECORD_CAP && !queue.detached {
            queue.records += 1;
            queue.messages.push_back(FaceMessage::Record(Box::new(record.clone())));
            self.0.filled.notify_one();
        }
    }

    /// Shows a signal that is no record. Never waits; what does not fit is counted.
    pub fn tell(&self, at_ms: u64, iteration: u32, signal: &AgentSignal) {
        let mut queue = self.0.lock();
        if queue.detached {
            return;
        }
        let missed = queue.newest.take().map_or(0, |replaced| replaced.missed + 1);
        let detail = Box::new(Detail {
            at_ms,
            iteration,
            signal: signal.bounded(),
            missed,
        });
        if queue.details >= DETAIL_CAP {
            queue.newest = Some(detail);
            return;
        }
        queue.details += 1;
        queue.messages.push_back(FaceMessage::Detail(detail));
        self.0.filled.notify_one();
    }

    /// Publishes terminal output; waits while the face is behind.
    pub fn output(&self, bytes: &[u8]) {
        let mut queue = self.0.lock();
        while queue.output_bytes >= OUTPUT_CAP_BYTES && !queue.lossy && !queue.detached {
            queue = self.0.emptied.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if queue.detached || bytes.is_empty() {
            return;
        }
        if queue.output_bytes >= OUTPUT_CAP_BYTES {
            queue.dropped_bytes += bytes.len() as u64;
            return;
        }
        queue.output_bytes += bytes.len();
        match queue.messages.back_mut() {
            Some(FaceMessage::Output(last)) => last.extend_from_slice(bytes),
            Some(
                FaceMessage::Record(_) | FaceMessage::Resized(_) | FaceMessage::Detail(_) | FaceMessage::Dropped { .. },
            )
            | None => {
                queue.messages.push_back(FaceMessage::Output(bytes.to_vec()));
            }
        }
        self.0.filled.notify_one();
    }

    /// Chooses whether output that does not fit waits or is dropped and counted. While a session is being ended it must
    /// not wait: a terminal that was stopped with Ctrl-S would keep the session's last word back for ever.
    pub fn set_lossy(&self, lossy: bool) {
        self.0.lock().lossy = lossy;
        self.0.emptied.notify_all();
    }

    /// Says that nothing more comes, and waits until the face has shown everything or `patience` is over.
    pub fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut queue = self.0.lock();
        queue.closed = true;
        self.0.filled.notify_all();
        while !queue.over && !queue.detached {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            queue = self
                .0
                .emptied
                .wait_timeout(queue, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// Each step waits for the next message; the end comes when the loop is over and everything was taken.
impl Iterator for Feed {
    type Item = FaceMessage;

    fn next(&mut self) -> Option<FaceMessage> {
        loop {
            match self.poll(None) {
                Polled::Message(message) => return Some(message),
                Polled::Woken => {}
                Polled::Over => return None,
            }
        }
    }
}

impl Feed {
    /// Waits for the next message until `deadline`, or without an end to it.
    pub fn poll(&mut self, deadline: Option<Instant>) -> Polled {
        loop {
            if let Some(record) = self.fill_gap() {
                return Polled::Message(FaceMessage::Record(record));
            }
            match self.receive(deadline) {
                Polled::Message(FaceMessage::Record(record)) if record.seq > self.next_seq => {
                    self.ahead = Some(record);
                }
                Polled::Message(FaceMessage::Record(record)) => {
                    self.next_seq = record.seq + 1;
                    return Polled::Message(FaceMessage::Record(record));
                }
                Polled::Over => {
                    let Some(record) = self.last_records() else {
                        self.shared.lock().over = true;
                        self.shared.emptied.notify_all();
                        return Polled::Over;
                    };
                    return Polled::Message(record);
                }
                other @ (Polled::Message(_) | Polled::Woken) => return other,
            }
        }
    }

    /// Hands over the records from before the first message, one at a time. What of the journal cannot be read is left
    /// out.
    pub fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        let Ok(mut reader) = Reader::open(&self.journal) else {
            return;
        };
        while reader.next_seq() < self.next_seq
            && let Ok(Some(record)) = reader.next_record()
        {
            take(&record);
        }
        // It is where the next gap begins, or before it.
        self.reader = Some(reader);
    }

    /// Returns a way to end a wait in [`Feed::poll`] from another thread.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared))
    }

    /// Returns the next record of a gap from the journal, or the one behind it.
    fn fill_gap(&mut self) -> Option<Box<Record>> {
        let end = self.ahead.as_ref()?.seq;
        // If the journal cannot be read, a gap in what is shown is better than no end to it.
        let record = self.next_in_journal().or_else(|| self.ahead.take())?;
        self.next_seq = record.seq + 1;
        if record.seq >= end {
            self.ahead = None;
        }
        Some(record)
    }

    /// Returns the next of the records that did not fit and were followed by none that did.
    fn last_records(&mut self) -> Option<FaceMessage> {
        let published = self.shared.lock().published;
        if published <= self.next_seq {
            return None;
        }
        let record = self.next_in_journal()?;
        self.next_seq = record.seq + 1;
        Some(FaceMessage::Record(record))
    }

    /// Reads the record that comes next.
    fn next_in_journal(&mut self) -> Option<Box<Record>> {
        if self.reader.is_none() {
            self.reader = Reader::open(&self.journal).ok();
        }
        loop {
            let record = self.reader.as_mut()?.next_record().ok()??;
            if record.seq >= self.next_seq {
                return Some(Box::new(record));
            }
        }
    }

    fn receive(&self, deadline: Option<Instant>) -> Polled {
        let mut queue = self.shared.lock();
        loop {
            if std::mem::take(&mut queue.woken) {
                return Polled::Woken;
            }
            if let Some(message) = queue.messages.pop_front() {
                match &message {
                    FaceMessage::Record(_) => queue.records -= 1,
                    FaceMessage::Output(bytes) => queue.output_bytes -= bytes.len(),
                    FaceMessage::Detail(_) => {
                        // One taken, one that waited for it put in its place, or none.
                        match queue.newest.take() {
                            Some(newest) => queue.messages.push_back(FaceMessage::Detail(newest)),
                            None => queue.details -= 1,
                        }
                    }
                    FaceMessage::Resized(_) | FaceMessage::Dropped { .. } => {}
                }
                if queue.dropped_bytes > 0 && queue.output_bytes == 0 {
                    let bytes = std::mem::take(&mut queue.dropped_bytes);
                    queue.messages.push_front(FaceMessage::Dropped { bytes });
                }
                self.shared.emptied.notify_all();
                return Polled::Message(message);
            }
            if queue.closed {
                return Polled::Over;
            }
            queue = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.shared.filled.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Polled::Woken,
                Some(left) => {
                    let waited = self.shared.filled.wait_timeout(queue, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.detached = true;
        queue.messages.clear();
        self.shared.emptied.notify_all();
    }
}

/// A session's terminal output goes to the face, too.
impl Display for Bus {
    fn show(&mut self, bytes: &[u8]) {
        self.output(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::{
        event::{Event, Level, RunId},
        store::journal::Journal,
    };

    const DEADLINE: Duration = Duration::from_secs(20);

    fn feed(bus: &Bus) -> Feed {
        bus.feed(Path::new("/nowhere/events.jsonl"), 0)
    }

    fn record(seq: u64) -> Record {
        Record {
            seq,
            at_ms: 0,
            event: Event::Noticed {
                level: Level::Info,
                text: String::new(),
            },
        }
    }

    #[test]
    fn messages_come_in_the_order_they_were_published() {
        let bus = Bus::default();
        let feed = feed(&bus);
        bus.output(b"a");
        bus.output(b"b");
        bus.publish(&record(0));
        bus.output(b"c");
        bus.close(Duration::ZERO);
        let got: Vec<FaceMessage> = feed.collect();
        let expected = [
            FaceMessage::Output(b"ab".to_vec()),
            FaceMessage::Record(Box::new(record(0))),
            FaceMessage::Output(b"c".to_vec()),
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn output_waits_for_a_slow_face_and_loses_nothing() {
        let bus = Bus::default();
        let feed = feed(&bus);
        let writer = thread::spawn(move || {
            for _ in 0..64 {
                bus.output(&[7; 64 * 1024]);
            }
            bus.close(Duration::ZERO);
        });
        let mut bytes = 0;
        for message in feed {
            let FaceMessage::Output(chunk) = message else {
                panic!("{message:?}")
            };
            assert!(chunk.len() <= OUTPUT_CAP_BYTES + 64 * 1024, "the queue is bounded");
            bytes += chunk.len();
        }
        writer.join().unwrap();
        assert_eq!(bytes, 64 * 64 * 1024);
    }

    #[test]
    fn a_writer_that_waits_is_let_go_when_output_may_be_dropped() {
        let bus = Bus::default();
        let mut feed = feed(&bus);
        let (sender, done) = mpsc::channel();
        let writer = thread::spawn({
            let bus = bus.clone();
            move || {
                bus.output(&[1; OUTPUT_CAP_BYTES]);
                bus.output(&[2; 10]);
                sender.send(()).unwrap();
            }
        });
        bus.set_lossy(true);
        done.recv_timeout(DEADLINE).unwrap();
        writer.join().unwrap();
        bus.close(Duration::ZERO);
        assert!(matches!(feed.next(), Some(FaceMessage::Output(_))));
        assert_eq!(feed.next(), Some(FaceMessage::Dropped { bytes: 10 }));
        assert_eq!(feed.next(), None);
    }

    #[test]
    fn records_never_wait_and_those_that_did_not_fit_come_from_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let (mut journal, first) = Journal::create(&path, 0, &RunId("r".to_owned())).unwrap();
        let bus = Bus::default();
        let mut feed = bus.feed(&path, 0);
        bus.publish(&first);
        let mut publish = |count: usize| {
            for _ in 0..count {
                bus.publish(&journal.append(0, record(0).event).unwrap());
            }
        };
        publish(RECORD_CAP + 10);
        let mut seqs = Vec::new();
        for _ in 0..100 {
            seqs.extend(seq_of(feed.next()));
        }
        publish(200);
        bus.close(Duration::ZERO);
        for message in feed {
            seqs.extend(seq_of(Some(message)));
        }
        let all: Vec<u64> = (0..RECORD_CAP as u64 + 211).collect();
        assert_eq!(seqs, all);
    }

    #[test]
    fn a_face_that_lags_gets_the_first_details_the_newest_and_the_number_of_those_between() {
        let bus = Bus::default();
        let feed = feed(&bus);
        let said = |n: usize| AgentSignal::Said { text: n.to_string() };
        let all = DETAIL_CAP + 100;
        for n in 0..all {
            bus.tell(0, 1, &said(n));
        }
        bus.close(Duration::ZERO);
        let details: Vec<Detail> = feed
            .filter_map(|message| match message {
                FaceMessage::Detail(detail) => Some(*detail),
                _ => None,
            })
            .collect();
        assert_eq!(details.len(), DETAIL_CAP + 1);
        let last = details.last().expect("a detail");
        assert_eq!((&last.signal, last.missed), (&said(all - 1), 99));
    }

    fn seq_of(message: Option<FaceMessage>) -> Option<u64> {
        match message {
            Some(FaceMessage::Record(record)) => Some(record.seq),
            Some(
                FaceMessage::Output(_) | FaceMessage::Resized(_) | FaceMessage::Detail(_) | FaceMessage::Dropped { .. },
            )
            | None => None,
        }
    }

    #[test]
    fn a_face_that_waits_is_woken_once_for_each_call_and_by_its_deadline() {
        let bus = Bus::default();
        let mut feed = feed(&bus);
        let waker = feed.waker();
        let (sender, polled) = mpsc::channel();
        let face = thread::spawn(move || {
            sender.send(feed.poll(None)).unwrap();
            sender.send(feed.poll(Some(Instant::now()))).unwrap();
            sender.send(feed.poll(None)).unwrap();
            sender.send(feed.poll(None)).unwrap();
        });
        waker.wake();
        assert_eq!(polled.recv_timeout(DEADLINE), Ok(Polled::Woken));
        assert_eq!(polled.recv_timeout(DEADLINE), Ok(Polled::Woken));
        bus.output(b"a");
        assert_eq!(
            polled.recv_timeout(DEADLINE),
            Ok(Polled::Message(FaceMessage::Output(b"a".to_vec())))
        );
        bus.close(Duration::ZERO);
        assert_eq!(polled.recv_timeout(DEADLINE), Ok(Polled::Over));
        face.join().unwrap();
    }

    #[test]
    fn a_face_that_is_gone_holds_nobody_up() {
        let bus = Bus::default();
        drop(feed(&bus));
        bus.output(&[0; OUTPUT_CAP_BYTES]);
        bus.output(&[0; OUTPUT_CAP_BYTES]);
        bus.publish(&record(0));
        bus.close(DEADLINE);
    }
}
