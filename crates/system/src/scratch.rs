//! Directories for short-lived files.
//!
//! A directory is locked by its user; an unlocked one was left behind by a ralph that was killed.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use tempfile::Builder;

use crate::{files::open_unfollowed, tree_copy::remove_tree};

const LOCK: &str = "lock";

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    /// The lock file, locked as long as this value exists.
    lock: PathBuf,
    _locked: File,
}

impl ScratchDirectory {
    /// Makes an empty directory in `parent`.
    ///
    /// # Errors
    /// The file system's error, with the path.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"))
        };
        let mut private = DirBuilder::new();
        private.mode(0o700);
        private.recursive(true).create(parent).map_err(at(parent))?;
        let (lock, locked) = new_lock(parent).map_err(at(parent))?;
        let directory = ScratchDirectory {
            path: lock.with_extension(""),
            lock,
            _locked: locked,
        };
        private.create(&directory.path).map_err(at(&directory.path))?;
        Ok(directory)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        remove(&self.path, &self.lock);
    }
}

/// Makes a lock file with a unique name, and locks it.
fn new_lock(parent: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let made = Builder::new()
            .prefix("")
            .suffix(&format!(".{LOCK}"))
            .tempfile_in(parent)?;
        let (file, path) = made.keep().map_err(|error| error.error)?;
        file.lock()?;
        // A sweep of another process may have removed it before it was locked.
        if path.exists() {
            return Ok((path, file));
        }
    }
}

/// Removes directories in `parent` that a killed ralph left behind; returns their number.
pub fn sweep(parent: &Path) -> usize {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let locks = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == LOCK));
    let is_left = |lock: &PathBuf| {
        let Ok(Some((file, _))) = open_unfollowed(lock) else {
            return false;
        };
        match file.try_lock() {
            Ok(()) => {
                remove(&lock.with_extension(""), lock);
                true
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        }
    };
    locks.filter(is_left).count()
}

/// Removes a directory, and then its lock file. If that fails, the next sweep tries again.
fn remove(directory: &Path, lock: &Path) {
    if remove_tree(directory).is_ok() {
        _ = fs::remove_file(lock); // tried again by the next sweep
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_directory_that_is_in_use_is_not_swept_and_one_that_was_left_behind_is() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("copies");
        let used = ScratchDirectory::new(&parent).unwrap();
        let left = parent.join("left/tree/read-only");
        fs::create_dir_all(&left).unwrap();
        fs::write(parent.join("left.lock"), "").unwrap();
        fs::write(left.join("file"), "x").unwrap();
        fs::set_permissions(&left, Permissions::from_mode(0o500)).unwrap();
        assert_eq!(sweep(&parent), 1);
        assert!(used.path().is_dir() && !parent.join("left").exists() && !parent.join("left.lock").exists());
        drop(used);
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
    }
}
