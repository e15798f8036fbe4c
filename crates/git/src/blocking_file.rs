//! Finds a nested file for which git waits without end.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, WalkDir};

/// Files that git reads in any directory of the work tree. Only git before 2.41 reads attributes for files that are
/// stored unconverted.
const NESTED: [&str; 2] = [".gitignore", ".gitattributes"];

/// Most entries of a work tree that are searched, which takes seconds.
const MOST_ENTRIES: usize = 1_000_000;

/// Finds a file below `root` that git reads in every directory, and that is a pipe or a device.
pub(super) fn find(root: &Path) -> Option<PathBuf> {
    WalkDir::new(root)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
        .take(MOST_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| NESTED.iter().any(|name| entry.file_name() == *name))
        .map(DirEntry::into_path)
        .find(|path| is_blocking(path))
}

/// Whether a reader of the file, or of the file it links to, may wait without end.
pub(super) fn is_blocking(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| is_endless(&metadata))
}

/// Whether reading may never end, as from a pipe or a device. Directories are left to git, which reports them.
pub(super) fn is_endless(metadata: &Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir()
}
