//! Lock files that a git which was killed has left behind.

use std::{fs, io, path::Path};

use super::GitError;

/// Removes all lock files in a directory.
pub(super) fn remove_locks(directory: &Path) -> Result<(), GitError> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Ok(());
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|extension| extension == "lock") {
            if_there(&path, fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// Turns the result of an operation on `path` into a [`GitError`]; a missing file is no error.
pub(super) fn if_there(path: &Path, done: io::Result<()>) -> Result<(), GitError> {
    match done {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(GitError::File {
            path: path.to_owned(),
            source,
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}
