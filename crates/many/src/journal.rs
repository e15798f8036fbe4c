//! The journal of a batch: one record a line, on disk before anything acts on it. A torn last line is
//! ignored.

use std::{
    io,
    path::{Path, PathBuf},
};

use ralph_plan::batch::{BatchEvent, BatchId, BatchRecord};
use ralph_state::store::append::{AppendError, AppendOnly};
use ralph_system::files::{self, ReadError};
use thiserror::Error;

const FORMAT: &str = "ralph-batch";
const VERSION: u32 = 1;
/// A record holds at most the end of the goals' output; a batch of a thousand plans has some thousand
/// records.
const CAP_BYTES: u64 = 256 << 20;

#[derive(Debug, Error)]
pub enum BatchJournalError {
    #[error("{path}: cannot be written", path = path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: was deleted or changed by another process while the batch wrote to it", path = path.display())]
    Meddled { path: PathBuf },
    #[error("{path}: cannot be read", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{path}: not the journal of a batch", path = path.display())]
    Foreign { path: PathBuf },
    #[error("{path}: line {line} is not a record", path = path.display())]
    Broken { path: PathBuf, line: usize },
    #[error("{path}: written by ralph {ralph}, in a format that this version does not know", path = path.display())]
    Version { path: PathBuf, ralph: String },
}

/// The journal of a batch, open for appending.
#[derive(Debug)]
pub(super) struct BatchJournal {
    path: PathBuf,
    file: AppendOnly,
    next_seq: u64,
}

impl BatchJournal {
    /// Creates the journal of a new batch.
    pub(super) fn create(path: &Path, at_ms: u64, batch: &BatchId) -> Result<BatchJournal, BatchJournalError> {
        let mut journal = BatchJournal {
            path: path.to_owned(),
            file: AppendOnly::create(path).map_err(|source| BatchJournalError::Write {
                path: path.to_owned(),
                source,
            })?,
            next_seq: 0,
        };
        journal.append(
            at_ms,
            BatchEvent::BatchOpened {
                format: FORMAT.to_owned(),
                version: VERSION,
                ralph: env!("CARGO_PKG_VERSION").to_owned(),
                batch: batch.clone(),
            },
        )?;
        Ok(journal)
    }

    /// Reopens the journal of a batch for appending, and cuts off a torn last line.
    pub(super) fn reopen(path: &Path) -> Result<(BatchJournal, Vec<BatchRecord>), BatchJournalError> {
        let (records, length) = parse(path)?;
        let write = |source| BatchJournalError::Write {
            path: path.to_owned(),
            source,
        };
        let file = AppendOnly::open(path, length).map_err(write)?;
        file.cut_torn().map_err(write)?;
        let journal = BatchJournal {
            path: path.to_owned(),
            file,
            next_seq: records.len() as u64,
        };
        Ok((journal, records))
    }

    /// Appends `event` as the next record. The record survives the end of this process once this returns.
    pub(super) fn append(&mut self, at_ms: u64, event: BatchEvent) -> Result<BatchRecord, BatchJournalError> {
        let record = BatchRecord {
            seq: self.next_seq,
            at_ms,
            event,
        };
        let mut line = serde_json::to_vec(&record).expect("records have string keys and no failing serialisers");
        line.push(b'\n');
        let path = || self.path.clone();
        self.file.append(&line).map_err(|error| match error {
            AppendError::Write(source) => BatchJournalError::Write { path: path(), source },
            AppendError::ChangedExternally => BatchJournalError::Meddled { path: path() },
        })?;
        self.next_seq += 1;
        Ok(record)
    }
}

/// Whether there is a complete record after the first one, which only names the format. True if the journal
/// cannot be read, so that the caller reports the error.
pub(super) fn has_begun(path: &Path) -> bool {
    let bytes = files::read_unfollowed(path, CAP_BYTES);
    bytes.map_or(true, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count() > 1)
}

/// Reads the records of a batch.
///
/// # Errors
/// `BatchJournalError` if the file cannot be read, or is not a journal of a batch.
pub fn read(path: &Path) -> Result<Vec<BatchRecord>, BatchJournalError> {
    parse(path).map(|(records, _)| records)
}

/// Returns the complete records, and the bytes of their lines.
fn parse(path: &Path) -> Result<(Vec<BatchRecord>, u64), BatchJournalError> {
    let bytes = files::read_unfollowed(path, CAP_BYTES).map_err(|source| BatchJournalError::Read {
        path: path.to_owned(),
        source,
    })?;
    let foreign = || BatchJournalError::Foreign { path: path.to_owned() };
    let mut records: Vec<BatchRecord> = Vec::new();
    let mut length = 0;
    for line in bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        if records.is_empty() {
            let opened: serde_json::Value = serde_json::from_slice(line).map_err(|_| foreign())?;
            let of = |key: &str| opened["event"][key].clone();
            if of("format") != FORMAT {
                return Err(foreign());
            }
            if of("version") != VERSION {
                return Err(BatchJournalError::Version {
                    path: path.to_owned(),
                    ralph: of("ralph").as_str().unwrap_or_default().to_owned(),
                });
            }
        }
        let record: BatchRecord = serde_json::from_slice(line).map_err(|_| BatchJournalError::Broken {
            path: path.to_owned(),
            line: records.len() + 1,
        })?;
        length += line.len() as u64;
        records.push(record);
    }
    match records.is_empty() {
        true => Err(foreign()),
        false => Ok((records, length)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use ralph_plan::batch::Resumption;

    use super::*;

    fn resumed() -> BatchEvent {
        let changes = Resumption::default();
        BatchEvent::BatchResumed { changes }
    }
    use ralph_plan::batch::{Batch, StoppedBy};

    #[test]
    fn a_journal_cut_at_any_byte_holds_the_records_before_it_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let id = BatchId("b".to_owned());
        let mut journal = BatchJournal::create(&path, 1, &id).unwrap();
        journal.append(2, resumed()).unwrap();
        let by = StoppedBy::User;
        journal.append(3, BatchEvent::StopRequested { by }).unwrap();
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            let (mut journal, records) = BatchJournal::reopen(&path).unwrap();
            assert_eq!(records.len(), lines);
            journal.append(4, resumed()).unwrap();
            let records = read(&path).unwrap();
            assert_eq!(records.last().unwrap().seq as usize, lines);
            assert_eq!(Batch::from_records(&records).unwrap().id, id);
        }
        for cut in 0..first {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(matches!(read(&path), Err(BatchJournalError::Foreign { .. })));
            assert!(!has_begun(&path));
        }
    }

    #[test]
    fn what_somebody_else_wrote_into_an_open_journal_is_noticed_and_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let mut journal = BatchJournal::create(&path, 1, &BatchId("b".to_owned())).unwrap();
        let forged =
            serde_json::json!({"seq": 1, "atMs": 2, "event": {"type": "batch-ended", "end": {"type": "merged"}}});
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(file, "{forged}").unwrap();
        let refused = journal.append(3, resumed()).unwrap_err();
        assert!(matches!(refused, BatchJournalError::Meddled { .. }), "{refused}");
        assert_eq!(read(&path).unwrap().len(), 1);
        fs::remove_file(&path).unwrap();
        let refused = journal.append(4, resumed()).unwrap_err();
        assert!(matches!(refused, BatchJournalError::Meddled { .. }), "{refused}");
    }

    #[test]
    fn what_another_version_or_another_program_wrote_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let said = |text: &str| {
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            error.rsplit_once("jsonl: ").unwrap().1.to_owned()
        };
        assert_eq!(said("{}\n"), "not the journal of a batch");
        let opened = |version: u32| {
            format!(
                "{{\"seq\":0,\"atMs\":1,\"event\":{{\"type\":\"batch-opened\",\"format\":\"ralph-batch\",\"version\":{version},\
                 \"ralph\":\"9.0\",\"batch\":\"b\"}}}}\n"
            )
        };
        assert_eq!(
            said(&opened(2)),
            "written by ralph 9.0, in a format that this version does not know"
        );
        assert_eq!(said(&(opened(1) + "what\n")), "line 2 is not a record");
    }
}
