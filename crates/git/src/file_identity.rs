//! The identity of a file, which tells it from a replacement.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// The identity of a file: git never writes an index in place, so a new version is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileIdentity {
    Missing,
    /// A pipe or a directory, which cannot be read.
    Odd,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

impl FileIdentity {
    pub(super) fn from_metadata(metadata: &Metadata) -> FileIdentity {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        FileIdentity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified,
        }
    }

    /// Returns the identity of the file that a path leads to.
    pub(super) fn at(path: &Path) -> FileIdentity {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => FileIdentity::from_metadata(&metadata),
            Ok(_) => FileIdentity::Odd,
            Err(_) => FileIdentity::Missing,
        }
    }
}
