//! One loop per project: a lock of the operating system, which no crash leaves behind.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::event::RunId;

#[derive(Debug, Error)]
pub enum LockError {
    /// Another ralph works in this project; who, if it has said so yet.
    #[error("another ralph works in this project{}", describe(.holder.as_ref()))]
    Held { holder: Option<Holder> },
    #[error("{path}: cannot be locked", path = path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Who holds the lock, as it wrote itself down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub run: Option<RunId>,
}

fn describe(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { pid, run: Some(run) }) => format!(" (pid {pid}, run {run})"),
        Some(Holder { pid, run: None }) => format!(" (pid {pid})"),
        None => String::new(),
    }
}

/// The held lock; it ends with this value, or with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock at `path`, or says who has it.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process has it, [`LockError::Unusable`] if the file cannot be opened or locked.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable {
            path: path.to_owned(),
            source,
        };
        // Not truncated: the text belongs to the holder, who may be somebody else.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { holder: holder(path) }),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Writes down who has the lock, for whoever asks. What cannot be written is only missing in a message.
    pub fn describe(&mut self, holder: &Holder) {
        let Ok(text) = serde_json::to_string(holder) else {
            return;
        };
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| writeln!(self.file, "{text}"));
        drop(written);
    }
}

/// Reads who holds the lock at `path`; none if nobody wrote that down. Says nothing about whether it is still held.
pub fn holder(path: &Path) -> Option<Holder> {
    let mut text = String::new();
    File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Tells whether a process holds the lock at `path`.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let mut lock = Lock::take(&path).unwrap();
        let me = Holder {
            pid: 77,
            run: Some(RunId("r1".to_owned())),
        };
        lock.describe(&me);
        let error = Lock::take(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            "another ralph works in this project (pid 77, run r1)"
        );
        assert!(is_held(&path));
        drop(lock);
        assert!(!is_held(&path));
        Lock::take(&path).unwrap();
    }
}
