//! Watches files, such as the pause file and the plan, by which a user or an agent communicates with the loop.
//!
//! The kernel's notifications are fast but not reliable (network file systems, bind mounts, exhausted watches). A
//! file's presence is therefore checked periodically as well: every second where notifications cannot be expected, and
//! less often elsewhere, because each check wakes the processor of a machine that has nothing else to do.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    mem,
    os::unix::fs::MetadataExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use notify::{RecursiveMode, Watcher};

use super::disk::FileSystem;

/// Interval of checks where the kernel reports nothing, or not everything.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Interval of checks where the kernel reports changes.
const POLL_NOTIFIED_EVERY: Duration = Duration::from_secs(5);

/// Reports every change of a file's presence until it is dropped, and every replacement by another file.
#[derive(Debug)]
pub struct PresenceWatch {
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl PresenceWatch {
    /// Watches `path` and calls `report` from a thread of its own, first with its present state if that is not `known`.
    pub fn start(path: &Path, known: bool, mut report: impl FnMut(bool) + Send + 'static) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("watch".to_owned()).spawn({
            let (path, stopped) = (path.to_owned(), Arc::clone(&stopped));
            move || {
                let notifier = FileNotifier::for_file(&path, thread::current());
                let poll_every = match &notifier {
                    Some(_) if is_local(&path) => POLL_NOTIFIED_EVERY,
                    _ => POLL_EVERY,
                };
                let mut reported = known;
                let mut seen = identity(&path);
                while !stopped.load(Ordering::Acquire) {
                    let found = identity(&path);
                    // A file that was removed and made again between two looks counts as a change.
                    if found.is_some() != reported || (found.is_some() && found != seen) {
                        reported = found.is_some();
                        report(reported);
                    }
                    seen = found;
                    thread::park_timeout(poll_every);
                }
            }
        });
        Self {
            stopped,
            thread: thread.ok(),
        }
    }
}

impl Drop for PresenceWatch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            _ = thread.join(); // it has nothing to report any more
        }
    }
}

/// Wakes a thread whenever a file with a given name changes in one of several directories. Never wakes it if the kernel
/// cannot report changes.
pub struct ChangeWatch {
    notifier: Option<FileNotifier>,
    watched: BTreeSet<PathBuf>,
}

impl ChangeWatch {
    pub fn new(name: &'static str, thread: thread::Thread) -> Self {
        Self {
            notifier: FileNotifier::start(OsString::from(name), thread),
            watched: BTreeSet::new(),
        }
    }

    /// Watches a directory as well, if it is not watched yet.
    pub fn add(&mut self, directory: &Path) {
        if let Some(notifier) = &mut self.notifier
            && !self.watched.contains(directory)
            && notifier.watch(directory)
        {
            self.watched.insert(directory.to_owned());
        }
    }
}

/// Whether the kernel accepts a watch on `path`; a network file system may still report nothing.
pub fn can_be_notified(path: &Path) -> bool {
    FileNotifier::for_file(path, thread::current()).is_some()
}

/// Whether every change of files beside `path` is made through this kernel, as far as the system tells.
fn is_local(path: &Path) -> bool {
    FileSystem::containing(path).is_some_and(|found| !found.is_remote())
}

/// Returns values that differ for another file of the same name: the inode, and the time of the last change of any
/// kind.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The kernel's notifications about files with one name, for as long as this value exists.
///
/// `notify` has a thread of its own and panics, also in its destructor, if the system had no thread for it.
struct FileNotifier(Option<notify::RecommendedWatcher>);

impl FileNotifier {
    /// Wakes `thread` whenever the kernel reports a change of a file called `name` in a watched directory.
    ///
    /// Returns `None` if the kernel cannot report changes, or no thread can be started.
    fn start(name: OsString, thread: thread::Thread) -> Option<Self> {
        // `notify` does not report that it could not start its thread.
        thread::Builder::new().spawn(|| {}).ok()?.join().ok()?;
        let concerns = move |paths: &[PathBuf]| {
            paths
                .iter()
                .any(|changed| changed.file_name() == Some(name.as_os_str()))
        };
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| concerns(&event.paths)) {
                thread.unpark();
            }
        });
        Some(Self(Some(watcher.ok()?)))
    }

    /// Watches one file; `None` if the kernel cannot.
    fn for_file(path: &Path, thread: thread::Thread) -> Option<Self> {
        let mut notifier = Self::start(path.file_name()?.to_owned(), thread)?;
        // The directory is watched, since the file comes and goes.
        notifier.watch(path.parent()?).then_some(notifier)
    }

    /// Watches one more directory; false if the kernel cannot report about it.
    fn watch(&mut self, directory: &Path) -> bool {
        let Some(watcher) = &mut self.0 else { return false };
        let watched = AssertUnwindSafe(|| watcher.watch(directory, RecursiveMode::NonRecursive).is_ok());
        panic::catch_unwind(watched).unwrap_or_else(|_| {
            mem::forget(self.0.take()); // its destructor would panic as well
            false
        })
    }
}

impl Drop for FileNotifier {
    fn drop(&mut self) {
        let watcher = AssertUnwindSafe(self.0.take());
        _ = panic::catch_unwind(move || drop(watcher)); // a panic means that its thread is missing; nothing is watched then
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(20);

    #[test]
    fn a_file_that_comes_and_goes_is_reported_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".ralph-pause");
        let (sender, reports) = mpsc::channel();
        let watch = PresenceWatch::start(&path, false, move |present| sender.send(present).unwrap());
        std::fs::write(&path, "").unwrap();
        assert_eq!(reports.recv_timeout(DEADLINE), Ok(true));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(reports.recv_timeout(DEADLINE), Ok(false));
        drop(watch);
        assert!(
            reports.recv_timeout(DEADLINE).is_err(),
            "the thread is gone and its sender with it"
        );
    }

    #[test]
    fn a_file_that_takes_the_place_of_another_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".ralph-pause");
        std::fs::write(&path, "").unwrap();
        std::fs::write(dir.path().join("other"), "").unwrap();
        let (sender, reports) = mpsc::channel();
        let _watch = PresenceWatch::start(&path, false, move |present| sender.send(present).unwrap());
        assert_eq!(reports.recv_timeout(DEADLINE), Ok(true));
        std::fs::rename(dir.path().join("other"), &path).unwrap();
        assert_eq!(reports.recv_timeout(DEADLINE), Ok(true));
    }

    #[test]
    fn a_file_that_is_there_already_is_reported_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".ralph-pause");
        std::fs::write(&path, "").unwrap();
        let (sender, reports) = mpsc::channel();
        let _watch = PresenceWatch::start(&path, false, move |present| sender.send(present).unwrap());
        assert_eq!(reports.recv_timeout(DEADLINE), Ok(true));
    }
}
