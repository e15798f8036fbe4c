//! Reads a journal line by line, even while it grows.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use ralph_core::{
    event::{Event, Record, RunId},
    run::RunView,
};
use ralph_system::{files, paths::ProjectPaths};
use serde::Deserialize;

use super::{
    error::JournalError,
    format::{FORMAT, LINE_CAP_BYTES, VERSION},
};

/// The state of a journal's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadNote {
    Whole,
    /// A crash has cut off the last line, which is left out.
    Torn {
        bytes: u64,
    },
}

/// Hands each record of a journal to `take`, oldest first, without keeping any.
///
/// # Errors
/// [`JournalError::Version`] if it has another version, [`JournalError::Foreign`] if it is not a journal,
/// [`JournalError::Broken`], [`JournalError::TooLong`] or [`JournalError::Gap`] if a line was damaged.
pub fn for_each(path: &Path, mut take: impl FnMut(Record)) -> Result<ReadNote, JournalError> {
    let mut reader = JournalReader::open(path)?;
    while let Some(record) = reader.next_record()? {
        take(record);
    }
    Ok(reader.note)
}

/// Reads a whole journal, which may be large, into memory; [`for_each`] holds one record at a time.
///
/// # Errors
/// As [`for_each`].
pub fn read(path: &Path) -> Result<(Vec<Record>, ReadNote), JournalError> {
    let mut records = Vec::new();
    let note = for_each(path, |record| records.push(record))?;
    Ok((records, note))
}

/// Reads the view of `run` from its journal.
///
/// # Errors
/// As [`for_each`].
pub fn read_view(paths: &ProjectPaths, run: &RunId) -> Result<RunView, JournalError> {
    let mut view = RunView::default();
    for_each(&paths.run(run).journal(), |record| view.apply(&record))?;
    Ok(view)
}

/// The fields that records of every version have.
#[derive(Deserialize)]
pub(super) struct Outline {
    seq: u64,
    #[serde(rename = "atMs")]
    at_ms: u64,
    pub(super) event: OutlineEvent,
}

#[derive(Deserialize)]
pub(super) struct OutlineEvent {
    #[serde(rename = "type")]
    pub(super) name: String,
}

impl Outline {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// Reads a journal record by record; more records may arrive after its end was reached.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    file: BufReader<File>,
    line: u64,
    next_seq: u64,
    /// The bytes of the current line, which may be incomplete.
    buffer: Vec<u8>,
    /// Length of all lines before it.
    pub(super) whole_bytes: u64,
    pub note: ReadNote,
}

impl JournalReader {
    /// # Errors
    /// [`JournalError::Read`] if the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let file = files::open_regular(path).map_err(|source| JournalError::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::new(file),
            line: 0,
            next_seq: 0,
            buffer: Vec::new(),
            whole_bytes: 0,
            note: ReadNote::Whole,
        })
    }

    /// Returns the number of the next record.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Skips the records before number `seq` without parsing them, as far as they exist.
    ///
    /// # Errors
    /// As [`read`], for lines that cannot be skipped.
    pub fn skip_to(&mut self, seq: u64) -> Result<(), JournalError> {
        // The first line is checked, because it tells what this file is.
        while self.next_seq < seq.min(1) && self.next_record()?.is_some() {}
        while self.next_seq < seq && self.next_line()? {
            self.next_seq += 1;
            self.whole_bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Reads the next record; `None` at the end or before an incomplete line.
    ///
    /// # Errors
    /// As [`read`].
    pub fn next_record(&mut self) -> Result<Option<Record>, JournalError> {
        if !self.next_line()? {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.buffer);
        let record = self.parse(&line)?;
        self.whole_bytes += line.len() as u64;
        line.clear();
        self.buffer = line;
        Ok(Some(record))
    }

    /// Hands over the records before number `seq`, one at a time. Stops at a part of the journal that cannot be read.
    pub fn read_before(&mut self, seq: u64, take: &mut dyn FnMut(&Record)) {
        while self.next_seq < seq
            && let Ok(Some(record)) = self.next_record()
        {
            take(&record);
        }
    }

    /// Reads the next line into the buffer; false at the end, or before an incomplete line.
    fn next_line(&mut self) -> Result<bool, JournalError> {
        let left = LINE_CAP_BYTES - self.buffer.len();
        (&mut self.file)
            .take(left as u64)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|source| JournalError::Read {
                path: self.path.clone(),
                source,
            })?;
        if self.buffer.is_empty() {
            return Ok(false);
        }
        if self.buffer.last() != Some(&b'\n') {
            // The line reaches the cap without an end: it is too long, and may or may not be torn.
            if self.buffer.len() == LINE_CAP_BYTES {
                return Err(self.too_long());
            }
            self.note = ReadNote::Torn {
                bytes: self.buffer.len() as u64,
            };
            // Kept for the next call: a writer may be in the middle of this line.
            return Ok(false);
        }
        self.note = ReadNote::Whole;
        self.line += 1;
        Ok(true)
    }

    fn too_long(&self) -> JournalError {
        let path = self.path.clone();
        match self.line {
            0 => JournalError::Foreign { path },
            before => JournalError::TooLong { path, line: before + 1 },
        }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Record, JournalError> {
        if self.line == 1 {
            self.check_header(line)?;
        }
        let record = serde_json::from_slice(line).or_else(|source| {
            let outline = Outline::parse(line).ok_or_else(|| JournalError::Broken {
                path: self.path.clone(),
                line: self.line,
                source,
            })?;
            // A whole record with an event that this version does not know: a newer one of the same format wrote it.
            Ok(Record {
                seq: outline.seq,
                at_ms: outline.at_ms,
                event: Event::Unknown {
                    name: outline.event.name,
                },
            })
        })?;
        if record.seq != self.next_seq {
            return Err(JournalError::Gap {
                path: self.path.clone(),
                line: self.line,
                expected: self.next_seq,
                found: record.seq,
            });
        }
        self.next_seq += 1;
        Ok(record)
    }

    /// Checks the first line without assuming that it is of this version.
    fn check_header(&self, line: &[u8]) -> Result<(), JournalError> {
        let foreign = || JournalError::Foreign {
            path: self.path.clone(),
        };
        let value: serde_json::Value = serde_json::from_slice(line).map_err(|_| foreign())?;
        let event = &value["event"];
        if event["format"] != FORMAT {
            return Err(foreign());
        }
        match event["version"].as_u64() {
            Some(found) if found != u64::from(VERSION) => Err(JournalError::Version {
                path: self.path.clone(),
                found,
                ralph: event["ralph"].as_str().unwrap_or("of unknown version").to_owned(),
            }),
            Some(_) => Ok(()),
            None => Err(foreign()),
        }
    }
}
