//! The newest part of what was published, and the next event for a subscriber at a given position.
//!
//! There are two windows: the bytes of the terminal, and the records and details between them, each of which knows the
//! offset of the bytes that it came after. A subscriber is only a position in each, so that one more costs no copy.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use ralph_core::event::{Event, IterationEvent, Record};
use ralph_state::control::frames::{SignalDetail, UiEvent};

use super::ring::Ring;

/// Bytes kept for subscribers that skip, and most unread bytes of a subscriber that holds the agent back.
pub(super) const OUTPUT_CAP_BYTES: u64 = 256 * 1024;
/// Bytes handed at once to a subscriber that only wants the latest output: several screenfuls.
const LATEST_BYTES: u64 = 64 * 1024;
/// Number of records and details that are kept. Older records are in the journal.
pub(super) const ENTRY_CAP: usize = 1024;

/// A record or a detail, at its place between the bytes.
#[derive(Debug)]
struct BacklogEntry {
    /// The offset of the output it came after.
    offset: u64,
    /// The sequence number of the first record that is not older than it.
    seq: u64,
    content: EntryContent,
}

#[derive(Debug)]
enum EntryContent {
    Record(Arc<Record>),
    /// A detail, and the number of details before it since the hub was made.
    Detail(Box<SignalDetail>, u64),
}

#[derive(Debug)]
pub(super) struct Backlog {
    output: Ring,
    entries: VecDeque<BacklogEntry>,
    /// Number of dropped entries.
    forgotten: u64,
    /// The sequence number after that of the newest record.
    published: u64,
    details: u64,
    /// The newest record by which an iteration started, and the offset of the output that came after it.
    iteration: (u64, u64),
    /// The number of that iteration; 0 before the first.
    number: u32,
}

/// The position of a subscriber.
#[derive(Debug)]
pub(super) struct SubscriberPosition {
    offset: u64,
    entry: u64,
    /// The record it gets next.
    seq: u64,
    /// The number of the detail it gets next.
    detail: u64,
}

/// The next item for a subscriber.
#[derive(Debug, PartialEq)]
pub(super) enum NextItem {
    Event(UiEvent),
    /// These records come first, and only the journal still has them.
    Journal(Range<u64>),
}

impl Backlog {
    /// Makes an empty backlog; the journal has the records before `published`.
    pub(super) fn new(published: u64) -> Self {
        Self {
            output: Ring::default(),
            entries: VecDeque::new(),
            forgotten: 0,
            published,
            details: 0,
            iteration: (0, 0),
            number: 0,
        }
    }

    pub(super) fn published(&self) -> u64 {
        self.published
    }

    pub(super) fn add_record(&mut self, record: Record) {
        self.published = record.seq + 1;
        if let Event::Iteration(IterationEvent::Started { iteration, .. }) = record.event {
            self.number = iteration;
            self.iteration = (record.seq, self.output.end());
        }
        self.add_entry(record.seq, EntryContent::Record(Arc::new(record)));
    }

    pub(super) fn add_detail(&mut self, detail: SignalDetail) {
        let number = self.details;
        self.details += 1;
        self.add_entry(self.published, EntryContent::Detail(Box::new(detail), number));
    }

    fn add_entry(&mut self, seq: u64, content: EntryContent) {
        if self.entries.len() == ENTRY_CAP {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        let offset = self.output.end();
        self.entries.push_back(BacklogEntry { offset, seq, content });
    }

    /// Appends terminal output. Drops the oldest bytes beyond the cap, but none from `needed` on.
    pub(super) fn add_output(&mut self, bytes: &[u8], needed: Option<u64>) {
        self.output.append(bytes);
        let spare = self.output.end().saturating_sub(OUTPUT_CAP_BYTES);
        self.output
            .forget_before(needed.map_or(spare, |needed| spare.min(needed)));
    }

    /// Returns the position of a subscriber that starts now with the record `seq`: at the beginning of the kept output,
    /// or after the start of the last iteration if the subscriber has seen that.
    pub(super) fn position(&self, seq: u64) -> SubscriberPosition {
        let is_detail = |entry: &&BacklogEntry| matches!(entry.content, EntryContent::Detail(..));
        let (started, begins) = self.iteration;
        let begins = if seq > started { begins } else { 0 };
        SubscriberPosition {
            offset: self.output.start().max(begins),
            entry: self.forgotten,
            seq,
            detail: self.details - self.entries.iter().filter(is_detail).count() as u64,
        }
    }

    /// Moves `position` behind the first `from` bytes of `iteration`, or as near to that as the kept output allows.
    /// Returns how many bytes of the iteration are before it, and how many there are; `None` if it is not the iteration
    /// that began last.
    pub(super) fn begin_at(&self, position: &mut SubscriberPosition, iteration: u32, from: u64) -> Option<(u64, u64)> {
        if iteration != self.number {
            return None;
        }
        let (_, start) = self.iteration;
        let end = self.output.end();
        position.offset = start.saturating_add(from).min(end).max(self.output.start());
        Some((position.offset - start, end - start))
    }

    /// Returns how many bytes are ahead of `position`.
    pub(super) fn unread_bytes(&self, position: &SubscriberPosition) -> u64 {
        self.output.end() - position.offset
    }

    /// Whether `position` is at the end.
    pub(super) fn is_read(&self, position: &SubscriberPosition) -> bool {
        let entries = self.forgotten + self.entries.len() as u64;
        position.offset == self.output.end() && position.entry == entries && position.seq >= self.published
    }

    /// Returns the next item after `position`, and moves the position; `None` at the end.
    pub(super) fn next(&self, position: &mut SubscriberPosition) -> Option<NextItem> {
        loop {
            let entry = self.unread_entry(position);
            // The state of the run comes before the output that may belong to it.
            let seq = entry.map_or(self.published, |entry| entry.seq);
            if position.seq < seq {
                let missing = position.seq..seq;
                position.seq = seq;
                return Some(NextItem::Journal(missing));
            }
            if let Some(event) = self.next_output(position, entry.map_or(self.output.end(), |entry| entry.offset)) {
                return Some(NextItem::Event(event));
            }
            let entry = entry?;
            position.entry += 1;
            match &entry.content {
                // From before what this subscriber asked for.
                EntryContent::Record(record) if record.seq < position.seq => {}
                EntryContent::Record(record) => {
                    position.seq = record.seq + 1;
                    return Some(NextItem::Event(UiEvent::Record(Arc::clone(record))));
                }
                EntryContent::Detail(detail, number) => {
                    let missed = number - position.detail;
                    position.detail = number + 1;
                    let detail = SignalDetail {
                        missed,
                        ..SignalDetail::clone(detail)
                    };
                    return Some(NextItem::Event(UiEvent::Detail(Box::new(detail))));
                }
            }
        }
    }

    /// As [`Self::next`], but skips all output except the latest.
    pub(super) fn next_of_latest(&self, position: &mut SubscriberPosition) -> Option<NextItem> {
        let from = position.offset;
        let latest = self.output.end().saturating_sub(LATEST_BYTES);
        if from < latest {
            position.offset = latest;
            return Some(NextItem::Event(UiEvent::Skipped { bytes: latest - from }));
        }
        self.next(position)
    }

    /// As [`Self::next`], but skips all output.
    pub(super) fn next_but_output(&self, position: &mut SubscriberPosition) -> Option<NextItem> {
        position.offset = self.output.end();
        self.next(position)
    }

    /// Returns the first entry that `position` has not passed. First moves a position at a dropped entry to the oldest
    /// kept one.
    fn unread_entry(&self, position: &mut SubscriberPosition) -> Option<&BacklogEntry> {
        position.entry = position.entry.max(self.forgotten);
        self.entries
            .get(usize::try_from(position.entry - self.forgotten).unwrap_or(usize::MAX))
    }

    /// Returns the output up to `end`, or how much of it was dropped.
    fn next_output(&self, position: &mut SubscriberPosition, end: u64) -> Option<UiEvent> {
        if position.offset >= end {
            return None;
        }
        let from = position.offset;
        let kept = self.output.start().min(end);
        if from < kept {
            position.offset = kept;
            return Some(UiEvent::Skipped { bytes: kept - from });
        }
        position.offset = end;
        Some(UiEvent::Output(self.output.copy(from, end)))
    }
}

impl SubscriberPosition {
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}
