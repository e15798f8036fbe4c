//! Watches the two files a user or an agent talks to the loop with.
//!
//! The kernel's notifications are fast but not to be relied on (network file systems, bind mounts, exhausted
//! watches), so the files are looked at every second as well; two `stat` calls cost nothing.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use notify::{RecursiveMode, Watcher};

const POLL_EVERY: Duration = Duration::from_secs(1);

/// Tells about every change of a file's presence until it is dropped, and about another file in its place.
#[derive(Debug)]
pub(crate) struct PresenceWatch {
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl PresenceWatch {
    /// Watches `path` and calls `report` from a thread of its own, first with its presence now if that is not `known`.
    pub(crate) fn start(path: &Path, known: bool, mut report: impl FnMut(bool) + Send + 'static) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("watch".to_owned()).spawn({
            let (path, stopped) = (path.to_owned(), Arc::clone(&stopped));
            move || {
                let _watcher = notifier(&path, thread::current());
                let mut reported = known;
                let mut seen = identity(&path);
                while !stopped.load(Ordering::Acquire) {
                    let found = identity(&path);
                    // One that was removed and made anew between two looks was made for a reason.
                    if found.is_some() != reported || (found.is_some() && found != seen) {
                        reported = found.is_some();
                        report(reported);
                    }
                    seen = found;
                    thread::park_timeout(POLL_EVERY);
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

/// Wakes a thread whenever a file of one name changes in any of some directories. Where the kernel cannot tell, nothing is woken.
pub(crate) struct ChangeWatch {
    watcher: Option<notify::RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl ChangeWatch {
    pub(crate) fn new(name: &'static str, thread: thread::Thread) -> Self {
        Self {
            watcher: waker(OsString::from(name), thread),
            watched: BTreeSet::new(),
        }
    }

    /// Watches a directory as well, if it is not watched yet.
    pub(crate) fn add(&mut self, directory: &Path) {
        if let Some(watcher) = &mut self.watcher
            && !self.watched.contains(directory)
            && watcher.watch(directory, RecursiveMode::NonRecursive).is_ok()
        {
            self.watched.insert(directory.to_owned());
        }
    }
}

/// Whether the kernel takes a watch on `path`; a file system over a network may still report nothing.
pub(crate) fn can_be_notified(path: &Path) -> bool {
    notifier(path, thread::current()).is_some()
}

/// What tells a file from another of the same name: its number, and when it was last changed in any way.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// Wakes `thread` whenever the kernel reports something about `path`; none where it cannot.
fn notifier(path: &Path, thread: thread::Thread) -> Option<notify::RecommendedWatcher> {
    let mut watcher = waker(path.file_name()?.to_owned(), thread)?;
    // The directory, since the file comes and goes.
    watcher.watch(path.parent()?, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

/// Wakes `thread` whenever the kernel reports something about a file of that name, once it is told where.
fn waker(name: OsString, thread: thread::Thread) -> Option<notify::RecommendedWatcher> {
    let concerns = move |paths: &[PathBuf]| {
        paths
            .iter()
            .any(|changed| changed.file_name() == Some(name.as_os_str()))
    };
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| concerns(&event.paths)) {
            thread.unpark();
        }
    })
    .ok()
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
