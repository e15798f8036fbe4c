//! Why a journal cannot be read or written.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::format::{LINE_CAP_BYTES, VERSION};

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{path}: cannot be opened", path = path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{path}: cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path}: was deleted or changed by another process while the run wrote to it", path = path.display())]
    ChangedExternally { path: PathBuf },
    #[error("{path}: cannot be read", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: written by ralph {ralph} in journal version {found}, this ralph reads version {VERSION}", path = path.display())]
    Version { path: PathBuf, found: u64, ralph: String },
    #[error("{path}: not a journal of ralph", path = path.display())]
    Foreign { path: PathBuf },
    #[error("{path}: line {line} is not a record", path = path.display())]
    Broken {
        path: PathBuf,
        line: u64,
        source: serde_json::Error,
    },
    #[error("{path}: line {line} is longer than {} MiB, the limit of a record", LINE_CAP_BYTES >> 20, path = path.display())]
    TooLong { path: PathBuf, line: u64 },
    #[error("{path}: record `{name}` has {bytes} bytes; the limit is {} MiB", LINE_CAP_BYTES >> 20, path = path.display())]
    Refused { path: PathBuf, name: String, bytes: usize },
    #[error("{path}: record {seq} has the type `{name}`, which ralph {} does not know; ralph {ralph} wrote it", env!("CARGO_PKG_VERSION"), path = path.display())]
    Unknown {
        path: PathBuf,
        seq: u64,
        name: String,
        ralph: String,
    },
    #[error("{path}: line {line} has seq {found} where {expected} belongs", path = path.display())]
    Gap {
        path: PathBuf,
        line: u64,
        expected: u64,
        found: u64,
    },
}
