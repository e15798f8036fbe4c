//! One loop per project: a lock of the operating system, which is released even by a crash.
//!
//! The lock is on a file; deleting the file removes its name, not the lock. A loop whose lock file was deleted is found
//! by the socket on which it listens.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use ralph_core::event::RunId;
use ralph_system::{files, paths::ProjectPaths};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::control;

/// How long to try before reporting another holder: a process that asks for the holder has the lock for a moment.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long to wait for the lock of a process that has ended: a child that it was starting may have it a moment longer.
const LONG_PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// Most bytes of what a holder writes.
const HOLDER_CAP_BYTES: u64 = 4096;

#[derive(Debug, Error)]
pub enum LockError {
    /// Another ralph works in this project; `holder` says which, if it has written that yet.
    #[error("another ralph is already running in this project{}", describe(.holder.as_ref()))]
    Held { holder: Option<Holder> },
    #[error("{path}: cannot be locked", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
}

/// The holder of the lock, as written by itself.
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
    /// Takes the lock of a project, or returns its holder as an error.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process works there, [`LockError::Unusable`] if the file cannot be opened or
    /// locked.
    pub fn take(paths: &ProjectPaths) -> Result<Self, LockError> {
        Self::take_within(paths, PATIENCE, LONG_PATIENCE)
    }

    /// Takes the lock of a project whose holder is about to end.
    ///
    /// # Errors
    /// As [`Lock::take`].
    pub fn take_from_ending(paths: &ProjectPaths) -> Result<Self, LockError> {
        Self::take_within(paths, LONG_PATIENCE, LONG_PATIENCE)
    }

    /// As [`Lock::take`], but waits `patience` for a living holder and `long_patience` for one that has ended.
    fn take_within(paths: &ProjectPaths, patience: Duration, long_patience: Duration) -> Result<Self, LockError> {
        let path = paths.lock();
        let unusable = |source| LockError::Unusable {
            path: path.clone(),
            source,
        };
        let began = Instant::now();
        loop {
            let lock = open(&path)
                .and_then(|file| Self::try_lock(file, &path))
                .map_err(unusable)?;
            if let Some(lock) = lock
                && !control::is_listened_to(&paths.socket())
            {
                return Ok(lock);
            }
            let waited = began.elapsed();
            if waited >= long_patience || waited >= patience && !has_ended(read_holder(&path).as_ref()) {
                return Err(LockError::Held {
                    holder: find_holder(paths),
                });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Locks `file`, opened at `path`. `None` if it is locked, or has been deleted since.
    fn try_lock(file: File, path: &Path) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let locked = file.metadata()?;
        let is_there = fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
        Ok(is_there.then_some(Self { file }))
    }

    /// Writes the holder into the lock file for other processes. If that fails, only messages lack it.
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

fn open(path: &Path) -> io::Result<File> {
    // Not truncated: the text belongs to the holder, which may be another process.
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Reads the holder from the lock file at `path`; `None` if it is not written there. The lock may have been released.
fn read_holder(path: &Path) -> Option<Holder> {
    let text = files::read_bytes(path, HOLDER_CAP_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Whether the process of `holder` is certainly gone.
fn has_ended(holder: Option<&Holder>) -> bool {
    let pid = holder.and_then(|holder| i32::try_from(holder.pid).ok());
    pid.is_some_and(|pid| pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
}

/// Returns the holder in a locked project: as written in the lock file, or else as its loop reports itself.
fn find_holder(paths: &ProjectPaths) -> Option<Holder> {
    if is_locked(&paths.lock()) {
        return read_holder(&paths.lock());
    }
    let status = control::status(&paths.socket()).ok()?;
    Some(Holder {
        pid: status.pid,
        run: Some(status.run),
    })
}

/// Whether a process has locked the file exclusively.
pub fn is_locked(path: &Path) -> bool {
    let Ok(file) = files::open_regular(path) else {
        return false;
    };
    // A shared lock, so that processes that only ask do not mistake each other for the holder.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Whether a ralph works in a project.
pub fn is_held(paths: &ProjectPaths) -> bool {
    is_locked(&paths.lock()) || control::is_listened_to(&paths.socket())
}

/// Returns the ralph that works in a project; `None` if no ralph does, or if it is not recorded yet.
pub fn holder(paths: &ProjectPaths) -> Option<Holder> {
    is_held(paths).then(|| find_holder(paths)).flatten()
}

/// Returns the run that goes on in a project; `None` if no run does, or if it is not recorded yet.
pub fn running(paths: &ProjectPaths) -> Option<RunId> {
    holder(paths)?.run
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::net::UnixListener,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn project() -> (tempfile::TempDir, ProjectPaths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        paths.create().unwrap();
        (dir, paths)
    }

    #[test]
    fn pipes_in_the_place_of_files_are_not_waited_for() {
        let (dir, paths) = project();
        let run = paths.run(&RunId("20261126-120000-1".to_owned()));
        fs::create_dir_all(run.dir()).unwrap();
        for path in [paths.lock(), paths.latest(), run.journal()] {
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        // A reader that waits would never end.
        thread::spawn(move || {
            let opens = crate::store::journal::JournalReader::open(&run.journal()).is_ok();
            let asked = (is_held(&paths), holder(&paths), paths.latest_run(), opens);
            sender.send(asked).expect("somebody listens");
        });
        let asked = receiver.recv_timeout(Duration::from_secs(20));
        assert_eq!(asked, Ok((false, None, None, false)));
        drop(dir);
    }

    #[test]
    fn a_second_taker_is_told_who_was_first() {
        let (_dir, paths) = project();
        let mut lock = Lock::take(&paths).unwrap();
        let me = Holder {
            pid: 77,
            run: Some(RunId("r1".to_owned())),
        };
        lock.describe(&me);
        let error = Lock::take(&paths).unwrap_err();
        assert_eq!(
            error.to_string(),
            "another ralph is already running in this project (pid 77, run r1)"
        );
        assert!(is_held(&paths));
        assert_eq!(holder(&paths), Some(me));
        drop(lock);
        assert!(!is_held(&paths));
        assert_eq!(holder(&paths), None);
        Lock::take(&paths).unwrap();
    }

    #[test]
    fn the_lock_of_a_process_that_has_ended_is_waited_for_longer_than_that_of_one_that_lives() {
        const LONGER: Duration = Duration::from_millis(50);
        const FOR_EVER: Duration = Duration::from_secs(3600);
        let (_dir, paths) = project();
        let mut lock = Lock::take(&paths).unwrap();
        let held_by = |lock: &mut Lock, pid| lock.describe(&Holder { pid, run: None });
        held_by(&mut lock, std::process::id());
        assert!(Lock::take_within(&paths, Duration::ZERO, FOR_EVER).is_err());
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        held_by(&mut lock, ended.id());
        let began = Instant::now();
        assert!(Lock::take_within(&paths, Duration::ZERO, LONGER).is_err());
        assert!(began.elapsed() >= LONGER);
    }

    #[test]
    fn whoever_asks_for_the_holder_keeps_nobody_from_taking_the_lock() {
        let (_dir, paths) = project();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let asking = || {
                while !over.load(Ordering::Relaxed) {
                    is_locked(&paths.lock());
                }
            };
            scope.spawn(asking);
            let taken: Vec<_> = (0..500)
                .map(|_| Lock::take(&paths))
                .map(|lock| lock.map(drop))
                .collect();
            over.store(true, Ordering::Relaxed);
            let refused: Vec<_> = taken.into_iter().filter_map(Result::err).collect();
            assert!(refused.is_empty(), "{refused:?}");
        });
    }

    #[test]
    fn a_file_that_is_replaced_before_it_is_locked_is_no_lock() {
        let (_dir, paths) = project();
        let path = paths.lock();
        let first = open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = open(&path).unwrap();
        assert!(Lock::try_lock(first, &path).unwrap().is_none());
        let second = Lock::try_lock(second, &path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(second.is_some());
    }

    #[test]
    fn a_loop_whose_lock_was_deleted_is_found_by_its_socket() {
        let (_dir, paths) = project();
        let lock = Lock::take(&paths).unwrap();
        let listener = UnixListener::bind(paths.socket()).unwrap();
        fs::remove_file(paths.lock()).unwrap();
        assert!(is_held(&paths));
        drop(lock);
        drop(listener);
        assert!(!is_held(&paths), "a dead socket is nobody's");
        Lock::take(&paths).unwrap();
    }
}
