//! A lock on work that helpers of a ralph may still be doing.
//!
//! The guard lets helpers finish when its ralph has died. A process that continues the same work waits for them.

use std::{fs::File, io, path::Path, sync::Arc, time::Duration};

use super::Helpers;
use crate::files::{append_private, lock_within};

/// How long to wait: by then a guard has killed every helper.
const PATIENCE: Duration = Duration::from_secs(8);

/// A locked file. The lock ends with this value or, if this process is killed, with the last of its helpers.
#[derive(Debug)]
pub struct LockedFile {
    file: Arc<File>,
}

impl LockedFile {
    /// Locks the file at `path` once the helpers of the ralph that held it before have ended.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::TimedOut`] if they do not end.
    pub(in crate::proc) fn take(path: &Path, helpers: &Helpers) -> io::Result<LockedFile> {
        Self::take_within(path, helpers, PATIENCE)
    }

    fn take_within(path: &Path, helpers: &Helpers, patience: Duration) -> io::Result<LockedFile> {
        let (file, _) = append_private(path)?;
        if !lock_within(&file, patience)? {
            let why = "programs that a killed ralph has started are still running";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        let file = Arc::new(file);
        helpers.keep(&file);
        Ok(LockedFile { file })
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // The guard has the same open file, so that closing it here is not enough.
        _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_hold_is_waited_for_and_ends_with_its_value_although_the_file_stays_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("held");
        let helpers = Helpers::without_guard(Arc::default());
        let held = LockedFile::take(&path, &helpers).unwrap();
        let open_elsewhere = held.file.try_clone().unwrap();
        let error = LockedFile::take_within(&path, &helpers, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(held);
        let again = LockedFile::take_within(&path, &helpers, Duration::ZERO).unwrap();
        drop((again, open_elsewhere));
    }

    #[test]
    fn something_else_than_a_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let helpers = Helpers::without_guard(Arc::default());
        _ = LockedFile::take_within(&path, &helpers, Duration::ZERO); // must return, with any result
        assert!(LockedFile::take_within(directory.path(), &helpers, Duration::ZERO).is_err());
    }
}
