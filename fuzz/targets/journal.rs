//! The journal of a run: its reader never panics, and a journal that it accepts can be resumed at the same record.

#![no_main]

use std::{cell::LazyCell, fs};

use libfuzzer_sys::fuzz_target;
use ralph_core::{event::Event, machine::LoopState};
use ralph_state::store::journal::{self, Journal, ReadNote};
use tempfile::TempDir;

thread_local! {
    static DIRECTORY: LazyCell<TempDir> = LazyCell::new(|| tempfile::tempdir().expect("a directory"));
}

fuzz_target!(|bytes: &[u8]| {
    let path = DIRECTORY.with(|directory| directory.path().join("events.jsonl"));
    fs::write(&path, bytes).expect("a file");
    let Ok((records, _)) = journal::read(&path) else { return };
    // A file without its first record is no journal that ralph resumes.
    if records.is_empty() {
        return;
    }
    let mut state = LoopState::default();
    for record in &records {
        state.apply(record);
    }
    let (mut resumed, _) = Journal::reopen(&path, drop).expect("a journal that can be read");
    let known = resumed.next_seq();
    assert_eq!(known, records.last().map_or(0, |record| record.seq + 1));
    let event = Event::Noticed {
        notice: ralph_core::event::Notice::info("one-more", "one more"),
    };
    let Ok(added) = resumed.append(0, event) else { return };
    assert_eq!(added.seq, known);
    let (after, note) = journal::read(&path).expect("a journal that was resumed");
    assert_eq!(note, ReadNote::Whole);
    assert_eq!(after.len(), records.len() + 1);
    assert_eq!(after.last(), Some(&added));
});
