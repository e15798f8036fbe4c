//! The journal: one record a line, written before it is published.
//!
//! Stop 7 of the tour in ARCHITECTURE.md.
//!
//! The state is the fold of this file, so a line is either whole or absent: a torn last line, left by a crash while
//! writing, is cut off when the file is opened to resume the run, and its event never happened.
//!
//! No line is longer than [`LINE_CAP_BYTES`], which the writer checks as well as the readers: a record too long for a
//! reader is refused before it is written. Readers hold one record at a time ([`for_each`]).

mod error;
mod format;
mod reader;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use ralph_core::event::{Event, Record, RunEvent, RunId};

use super::append::{AppendError, AppendOnly};
use reader::Outline;

pub use error::JournalError;
pub use format::{FORMAT, LINE_CAP_BYTES, VERSION};
pub use reader::{JournalReader, ReadNote, for_each, read, read_view};

/// The open journal of a running loop.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: AppendOnly,
    next_seq: u64,
}

impl Journal {
    /// Creates the journal of a new run and writes its first record.
    ///
    /// # Errors
    /// [`JournalError::Open`] if the file exists or cannot be made, [`JournalError::Write`] if it cannot be
    /// written.
    pub fn create(path: &Path, at_ms: u64, run: &RunId) -> Result<(Self, Record), JournalError> {
        let mut journal = Self {
            file: AppendOnly::create(path).map_err(|source| JournalError::Open {
                path: path.to_owned(),
                source,
            })?,
            path: path.to_owned(),
            next_seq: 0,
        };
        let record = journal.append(
            at_ms,
            Event::Run(RunEvent::JournalOpened {
                format: FORMAT.to_owned(),
                version: VERSION,
                ralph: env!("CARGO_PKG_VERSION").to_owned(),
                run: run.clone(),
            }),
        )?;
        Ok((journal, record))
    }

    /// Opens the journal of an unfinished run to resume it, and hands each of its records to `take`. Cuts off a torn
    /// last line.
    ///
    /// # Errors
    /// As [`for_each`], and [`JournalError::Open`].
    pub fn reopen(path: &Path, mut take: impl FnMut(Record)) -> Result<(Self, ReadNote), JournalError> {
        let mut reader = JournalReader::open(path)?;
        while let Some(record) = reader.next_record()? {
            take(record);
        }
        let file = AppendOnly::open(path, reader.whole_bytes).map_err(|source| JournalError::Open {
            path: path.to_owned(),
            source,
        })?;
        if let ReadNote::Torn { .. } = reader.note {
            file.cut_torn().map_err(|source| JournalError::Write {
                path: path.to_owned(),
                source,
            })?;
        }
        let journal = Self {
            path: path.to_owned(),
            file,
            next_seq: reader.next_seq(),
        };
        Ok((journal, reader.note))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of the next record.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Appends `event` as the next record. When it returns, the record survives the end of this process.
    ///
    /// # Errors
    /// [`JournalError::Write`], [`JournalError::ChangedExternally`] and [`JournalError::Refused`]; nothing was appended.
    pub fn append(&mut self, at_ms: u64, event: Event) -> Result<Record, JournalError> {
        let record = Record {
            seq: self.next_seq,
            at_ms,
            event,
        };
        let mut line = serde_json::to_vec(&record).expect("records have string keys and no failing serialisers");
        line.push(b'\n');
        if line.len() > LINE_CAP_BYTES {
            return Err(JournalError::Refused {
                path: self.path.clone(),
                name: Outline::parse(&line).map_or_else(String::new, |outline| outline.event.name),
                bytes: line.len(),
            });
        }
        self.file.append(&line).map_err(|error| match error {
            AppendError::Write(source) => JournalError::Write {
                path: self.path.clone(),
                source,
            },
            AppendError::ChangedExternally => JournalError::ChangedExternally {
                path: self.path.clone(),
            },
        })?;
        self.next_seq += 1;
        Ok(record)
    }
}
