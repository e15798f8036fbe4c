//! Keeps others from working where helpers of a ralph still do.
//!
//! The guard lets helpers come to their end when its ralph has died. Whoever goes on with the same work waits for that.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::Helpers;

/// How long to wait: a guard has killed what does not end by then.
const PATIENCE: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(5);

/// A locked file. The lock ends with this value, or else with the last helper of this process, however that dies.
#[derive(Debug)]
pub struct Hold {
    file: Arc<File>,
}

impl Hold {
    /// Locks the file at `path` once the helpers of the ralph that held it before have ended.
    ///
    /// # Errors
    /// Whatever the system says; [`io::ErrorKind::TimedOut`] if they do not end.
    pub(in crate::proc) fn take(path: &Path, helpers: &Helpers) -> io::Result<Hold> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(path)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let why = "what a killed ralph has started still runs";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        let file = Arc::new(file);
        helpers.keep(&file);
        Ok(Hold { file })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The guard has the same open file, so that closing it here is not enough.
        _ = self.file.unlock();
    }
}
