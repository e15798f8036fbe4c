//! Lock files that a session left: a git that was killed leaves the lock that it held, and every later one fails on it.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Component, Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use ralph_system::proc;
use rustix::fs::{AtFlags, Mode, OFlags, open, openat, unlinkat};

use super::Repository;

/// Most entries of directories that are looked at.
const MOST_ENTRIES: usize = 5000;
/// How deep repositories below the root, and submodules below their directory, are looked for.
const DEPTH: usize = 3;
/// A git holds a lock on references for an instant: an older one was left.
const AGE_OF_SHARED: Duration = Duration::from_secs(10);

/// How long a git that runs is waited for: many are ralph's own, and end in an instant.
const WAIT_FOR_GIT: Duration = Duration::from_secs(2);

/// A lock file of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLock {
    pub path: PathBuf,
    /// Whether a git in another work tree of the repository may hold it.
    pub is_shared: bool,
}

/// The action taken on a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockRemoval {
    Removed,
    /// A process may hold it.
    Kept,
}

impl Repository {
    /// Lists the lock files of this repository, of its submodules and of repositories below its root.
    pub fn lock_files(&self) -> Vec<FoundLock> {
        let (git_dir, common_dir) = (&self.layout.git_dir, &self.layout.common_dir);
        let mut left = MOST_ENTRIES;
        let mut own = vec![git_dir.clone()];
        repositories(&common_dir.join("modules"), DEPTH, &mut left, &mut own);
        repositories(&self.layout.root, DEPTH, &mut left, &mut own);
        let has_other_trees = fs::read_dir(common_dir.join("worktrees")).is_ok_and(|mut trees| trees.next().is_some());
        let mut found = Vec::new();
        for directory in &own {
            let is_shared = has_other_trees && directory == common_dir;
            locks_in(directory, &mut left, &mut |path| {
                found.push(FoundLock { path, is_shared })
            });
        }
        if git_dir != common_dir {
            let is_shared = true;
            locks_in(common_dir, &mut left, &mut |path| {
                found.push(FoundLock { path, is_shared })
            });
        }
        // Those of the work tree itself, which no git in another one takes.
        for lock in &mut found {
            let of_work_tree = lock.path.parent() == Some(git_dir.as_path()) && is_of_work_tree(&lock.path);
            lock.is_shared &= !of_work_tree;
        }
        found.retain(|lock| !lock.is_shared || is_old(&lock.path));
        found
    }

    /// Removes a lock file that was listed, unless a git may hold it.
    pub fn remove_lock(&self, lock: &FoundLock) -> LockRemoval {
        let mut directories = self.directories();
        directories.push(self.layout.root.clone());
        if lock.is_shared {
            return LockRemoval::Kept;
        }
        let deadline = Instant::now() + WAIT_FOR_GIT;
        while proc::runs_below("git", &directories) {
            if Instant::now() > deadline {
                return LockRemoval::Kept;
            }
            thread::sleep(WAIT_FOR_GIT / 40);
        }
        match remove_unfollowed(&lock.path) {
            Ok(()) => LockRemoval::Removed,
            Err(_) => LockRemoval::Kept,
        }
    }
}

fn is_of_work_tree(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "index.lock" || name == "HEAD.lock")
}

pub(super) fn is_old(path: &Path) -> bool {
    let made = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| {
        SystemTime::now()
            .duration_since(made)
            .is_ok_and(|age| age > AGE_OF_SHARED)
    })
}

/// Finds the directories of repositories below `directory`, without following links.
fn repositories(directory: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    for path in directories_in(directory, left) {
        let is_git_dir = path.join("HEAD").is_file() && path.join("objects").is_dir();
        if is_git_dir && !found.contains(&path) {
            found.push(path);
        } else if !is_git_dir && depth > 0 {
            repositories(&path, depth - 1, left, found);
        }
    }
}

fn directories_in(directory: &Path, left: &mut usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    found
}

/// Finds the lock files directly in git's directory and among its references.
pub(super) fn locks_in(git_dir: &Path, left: &mut usize, found: &mut dyn FnMut(PathBuf)) {
    let mut next = vec![(git_dir.to_owned(), false)];
    while let Some((directory, is_of_references)) = next.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_file() && path.extension() == Some(OsStr::new("lock")) {
                found(path);
            } else if kind.is_dir() && (is_of_references || entry.file_name() == "refs") {
                next.push((path, true));
            }
        }
    }
}

/// Removes a file, and follows no link on the way to it: what still runs could lead ralph to another file.
fn remove_unfollowed(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut directory = open("/", flags, Mode::empty())?;
    for component in parent.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => directory = openat(&directory, name, flags, Mode::empty())?,
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
    }
    Ok(unlinkat(&directory, name, AtFlags::empty())?)
}
