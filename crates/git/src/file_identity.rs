//! The identity of a file, which tells it from a replacement.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// The identity of a file: git never writes an index in place, so a new version is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    Missing,
    /// A pipe or a directory, which cannot be read.
    Odd,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Identity {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Identity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified,
        }
    }

    /// Returns the identity of the file that a path leads to.
    pub(super) fn at(path: &Path) -> Identity {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Identity::of(&metadata),
            Ok(_) => Identity::Odd,
            Err(_) => Identity::Missing,
        }
    }
}
