//! The journal: one record a line, written before anyone else sees it.
//!
//! State is the fold of this file, so a line is either there as a whole or not at all: a torn last line, left by a
//! crash while writing, is cut off when the file is opened to go on, and its event never happened.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::event::{Event, Record, RunId};

pub const FORMAT: &str = "ralph-journal";
pub const VERSION: u32 = 1;
/// No record comes near it; a longer line is not one of ours.
const LINE_CAP_BYTES: u64 = 16 << 20;

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{path}: cannot be opened", path = path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: cannot be written", path = path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: was deleted, or changed by somebody else, while the run wrote to it", path = path.display())]
    Meddled { path: PathBuf },
    #[error("{path}: cannot be read", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: written by ralph {ralph} in journal version {found}, this ralph reads up to {VERSION}", path = path.display())]
    Version { path: PathBuf, found: u64, ralph: String },
    #[error("{path}: not a journal of ralph", path = path.display())]
    Foreign { path: PathBuf },
    #[error("{path}: line {line} is not a record", path = path.display())]
    Broken {
        path: PathBuf,
        line: u64,
        #[source]
        source: serde_json::Error,
    },
    #[error("{path}: line {line} has seq {found} where {expected} belongs", path = path.display())]
    Gap {
        path: PathBuf,
        line: u64,
        expected: u64,
        found: u64,
    },
}

/// What a reader found beside the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadNote {
    Whole,
    /// The last line was cut off by a crash and is left out.
    Torn {
        bytes: u64,
    },
}

/// The open journal of a running loop.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of all whole lines. Not the file's position, which is 0 in an appending file until it is written to.
    length: u64,
    next_seq: u64,
}

impl Journal {
    /// Creates the journal of a new run and writes its first record.
    ///
    /// # Errors
    /// [`JournalError::Open`] if the file is there already or cannot be made, [`JournalError::Write`] if it cannot be
    /// written.
    pub fn create(path: &Path, at_ms: u64, run: &RunId) -> Result<(Self, Record), JournalError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| JournalError::Open {
                path: path.to_owned(),
                source,
            })?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            length: 0,
            next_seq: 0,
        };
        let record = journal.append(
            at_ms,
            Event::JournalOpened {
                format: FORMAT.to_owned(),
                version: VERSION,
                ralph: env!("CARGO_PKG_VERSION").to_owned(),
                run: run.clone(),
            },
        )?;
        Ok((journal, record))
    }

    /// Opens the journal of an unfinished run to go on with it; a torn last line is cut off.
    ///
    /// # Errors
    /// As [`read`], and [`JournalError::Open`].
    pub fn reopen(path: &Path) -> Result<(Self, Vec<Record>, ReadNote), JournalError> {
        let (records, note) = read(path)?;
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(|source| JournalError::Open {
                path: path.to_owned(),
                source,
            })?;
        let mut length = file
            .metadata()
            .map_err(|source| JournalError::Open {
                path: path.to_owned(),
                source,
            })?
            .len();
        if let ReadNote::Torn { bytes } = note {
            length = length.saturating_sub(bytes);
            file.set_len(length).map_err(|source| JournalError::Write {
                path: path.to_owned(),
                source,
            })?;
        }
        let next_seq = records.last().map_or(0, |record| record.seq + 1);
        Ok((
            Self {
                path: path.to_owned(),
                file,
                length,
                next_seq,
            },
            records,
            note,
        ))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends `event` as the next record. When it returns, the record survives the end of this process.
    ///
    /// A line that could be written only in part is taken back, so that a later reader does not take it for a crash.
    ///
    /// # Errors
    /// [`JournalError::Write`] and [`JournalError::Meddled`]; nothing was appended.
    pub fn append(&mut self, at_ms: u64, event: Event) -> Result<Record, JournalError> {
        let record = Record {
            seq: self.next_seq,
            at_ms,
            event,
        };
        let mut line = serde_json::to_vec(&record).expect("records have string keys and no failing serialisers");
        line.push(b'\n');
        self.check_untouched()?;
        if let Err(source) = self.file.write_all(&line) {
            _ = self.file.set_len(self.length); // the write error is what is reported
            return Err(JournalError::Write {
                path: self.path.clone(),
                source,
            });
        }
        self.length += line.len() as u64;
        self.next_seq += 1;
        Ok(record)
    }

    /// Fails if nobody could read what would be written: the file is gone, or its length is another's doing.
    fn check_untouched(&self) -> Result<(), JournalError> {
        let meta = self.file.metadata().map_err(|source| JournalError::Write {
            path: self.path.clone(),
            source,
        })?;
        if meta.len() > self.length {
            _ = self.file.set_len(self.length); // what is not ours must not be read as ours; that it was there is said
        }
        if meta.nlink() == 0 || meta.len() != self.length {
            return Err(JournalError::Meddled {
                path: self.path.clone(),
            });
        }
        Ok(())
    }
}

/// Reads a whole journal, oldest record first.
///
/// # Errors
/// [`JournalError::Version`] if a newer ralph wrote it, [`JournalError::Foreign`] if it is something else,
/// [`JournalError::Broken`] or [`JournalError::Gap`] if a line in the middle was damaged.
pub fn read(path: &Path) -> Result<(Vec<Record>, ReadNote), JournalError> {
    let mut reader = Reader::open(path)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record);
    }
    Ok((records, reader.note))
}

/// Reads a journal record by record; at its end, more may come later.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    line: u64,
    next_seq: u64,
    buffer: Vec<u8>,
    pub note: ReadNote,
}

impl Reader {
    /// # Errors
    /// [`JournalError::Read`] if the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let file = File::open(path).map_err(|source| JournalError::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::new(file),
            line: 0,
            next_seq: 0,
            buffer: Vec::new(),
            note: ReadNote::Whole,
        })
    }

    /// Reads the next record; none at the end or before a line that is not complete yet.
    ///
    /// # Errors
    /// As [`read`].
    pub fn next_record(&mut self) -> Result<Option<Record>, JournalError> {
        let error = |source| JournalError::Read {
            path: self.path.clone(),
            source,
        };
        (&mut self.file)
            .take(LINE_CAP_BYTES)
            .read_until(b'\n', &mut self.buffer)
            .map_err(error)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        if self.buffer.last() != Some(&b'\n') {
            let bytes = self.buffer.len() as u64;
            if self.line == 0 && bytes >= LINE_CAP_BYTES {
                return Err(JournalError::Foreign {
                    path: self.path.clone(),
                });
            }
            self.note = ReadNote::Torn { bytes };
            // Kept for the next call: a writer may be in the middle of this line.
            return Ok(None);
        }
        self.note = ReadNote::Whole;
        self.line += 1;
        let line = std::mem::take(&mut self.buffer);
        self.parse(&line).map(Some)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Record, JournalError> {
        if self.line == 1 {
            self.check_header(line)?;
        }
        let record: Record = serde_json::from_slice(line).map_err(|source| JournalError::Broken {
            path: self.path.clone(),
            line: self.line,
            source,
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

    /// Looks at the first line without trusting that it is one of this version.
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
            Some(found) if found > u64::from(VERSION) => Err(JournalError::Version {
                path: self.path.clone(),
                found,
                ralph: event["ralph"].as_str().unwrap_or("of unknown version").to_owned(),
            }),
            Some(_) => Ok(()),
            None => Err(foreign()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Level;

    fn notice(text: &str) -> Event {
        Event::Noticed {
            level: Level::Info,
            text: text.to_owned(),
        }
    }

    fn written(dir: &Path) -> PathBuf {
        let path = dir.join("events.jsonl");
        let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
        journal.append(2, notice("one")).unwrap();
        journal.append(3, notice("two")).unwrap();
        path
    }

    #[test]
    fn a_journal_cut_at_any_byte_reads_as_the_records_before_the_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        let (all, _) = read(&path).unwrap();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
            let (records, note) = read(&path).unwrap();
            assert_eq!(records, all[..whole]);
            assert_eq!(
                note == ReadNote::Whole,
                cut == 0 || bytes[cut - 1] == b'\n',
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn going_on_after_a_torn_line_leaves_a_whole_journal() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
        let (mut journal, records, note) = Journal::reopen(&path).unwrap();
        assert_eq!(records.len(), 2);
        assert!(matches!(note, ReadNote::Torn { .. }));
        journal.append(9, notice("three")).unwrap();
        let (records, note) = read(&path).unwrap();
        assert_eq!(note, ReadNote::Whole);
        assert_eq!(records.last().unwrap().event, notice("three"));
        assert_eq!(records.last().unwrap().seq, 2);
    }

    #[test]
    fn a_newer_journal_is_refused_with_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let line = r#"{"seq":0,"atMs":1,"event":{"type":"journal-opened","format":"ralph-journal","version":9,"ralph":"7.0.0","run":"r","more":1}}"#;
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, JournalError::Version { found: 9, .. }), "{error}");
        assert!(error.to_string().contains("7.0.0"), "{error}");
    }

    #[test]
    fn a_file_of_another_program_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        for text in ["hello\n", "{\"seq\":0}\n", "[1,2]\n", "\0\0\0\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(
                matches!(read(&path).unwrap_err(), JournalError::Foreign { .. }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"one\"", "\"one", 1)).unwrap();
        assert!(matches!(read(&path).unwrap_err(), JournalError::Broken { line: 2, .. }));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.remove(1);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert!(matches!(
            read(&path).unwrap_err(),
            JournalError::Gap {
                expected: 1,
                found: 2,
                ..
            }
        ));
    }

    #[test]
    fn what_somebody_else_did_to_an_open_journal_is_noticed_and_nothing_of_it_is_taken_for_a_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
        journal.append(2, notice("one")).unwrap();
        let forged = serde_json::json!({"seq": 2, "atMs": 2, "event": {"type": "held"}});
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(file, "{forged}").unwrap();
        assert!(matches!(
            journal.append(3, notice("two")),
            Err(JournalError::Meddled { .. })
        ));
        assert_eq!(read(&path).unwrap().0.len(), 2);
        file.set_len(5).unwrap();
        assert!(matches!(
            journal.append(3, notice("two")),
            Err(JournalError::Meddled { .. })
        ));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(
            journal.append(3, notice("two")),
            Err(JournalError::Meddled { .. })
        ));
    }

    #[test]
    fn a_reader_follows_a_journal_that_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert!(reader.next_record().unwrap().is_some());
        assert!(reader.next_record().unwrap().is_none());
        journal.append(2, notice("one")).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().event, notice("one"));
    }
}
