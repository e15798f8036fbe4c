//! JSON files in the state directory that are replaced as a whole.

use std::{io, path::PathBuf};

use ralph_system::{
    files::{ReadError, read_unfollowed},
    paths::replace_file,
};
use ralph_text::pretty_json;
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum StateFileError {
    #[error("{path}: cannot be read", path = path.display())]
    Read { path: PathBuf, source: ReadError },
    #[error("{path}: not what ralph has written", path = path.display())]
    Garbled { path: PathBuf, source: serde_json::Error },
    #[error("{path}: cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Reads a file of at most `cap_bytes`; `None` if it is missing.
///
/// # Errors
/// [`StateFileError::Read`] and [`StateFileError::Garbled`].
pub(super) fn read<T: DeserializeOwned>(path: PathBuf, cap_bytes: u64) -> Result<Option<T>, StateFileError> {
    match read_unfollowed(&path, cap_bytes) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| StateFileError::Garbled { path, source }),
        // A broken state directory is reported when it is created.
        Err(error) if error.is_missing() => Ok(None),
        Err(source) => Err(StateFileError::Read { path, source }),
    }
}

/// Replaces a file.
///
/// # Errors
/// [`StateFileError::Write`]; the file stays as it was.
pub(super) fn write(path: PathBuf, content: &impl Serialize) -> Result<(), StateFileError> {
    replace_file(&path, pretty_json(content).as_bytes()).map_err(|source| StateFileError::Write { path, source })
}
