//! Reads files of the project with the access rights of the caller: in the sandbox, if there is one.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ralph_system::files::{self, ReadError};
use ralph_text::with_causes;

use super::{facts::QueryError, position::IndexedText};

/// Most bytes of a file that a server is sent.
pub(super) const FILE_CAP_BYTES: u64 = 4 << 20;

/// Metadata that show whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
}

impl Stamp {
    /// The stamp of a regular file.
    pub(super) fn from_path(path: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Stamp {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        })
    }
}

/// The text of a file, with its stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceText {
    pub(super) text: IndexedText,
    pub(super) stamp: Stamp,
    /// Whether the file begins with a byte order mark, which is not part of the text.
    pub(super) marked: bool,
}

pub(super) const MARK: char = '\u{feff}';

/// Reads a text. The stamp is taken before reading, so that changes meanwhile are noticed.
pub(crate) fn read(path: &Path) -> Result<SourceText, ReadError> {
    let stamp = Stamp::from_path(path).ok_or_else(|| match files::read_head(path, 0) {
        Err(error) => error,
        Ok(_) => io::Error::from(io::ErrorKind::NotFound).into(),
    })?;
    let marked = files::read_head(path, 3)?.starts_with("\u{feff}".as_bytes());
    let text = files::read_text(path, FILE_CAP_BYTES)?;
    Ok(SourceText {
        text: IndexedText::new(text),
        stamp,
        marked,
    })
}

/// The path of a file in `project`, without links.
pub(super) fn resolve(project: &Path, file: &str) -> Result<PathBuf, QueryError> {
    let named = super::uri::to_path(file).unwrap_or_else(|| PathBuf::from(file));
    let path = fs::canonicalize(project.join(named)).map_err(|error| QueryError::Unreadable {
        file: file.to_owned(),
        why: with_causes(&error),
    })?;
    match path.starts_with(project) {
        true => Ok(path),
        false => Err(QueryError::Outside { file: file.to_owned() }),
    }
}

/// The path for display: relative to the project if it is inside.
pub(super) fn display_path(project: &Path, path: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// The root directory of a server for `file`: the outermost directory in the project that contains one of `markers`.
pub(super) fn root_of(project: &Path, file: &Path, markers: &[String]) -> PathBuf {
    let above = file
        .ancestors()
        .skip(1)
        .take_while(|directory| directory.starts_with(project));
    let marked = above.filter(|directory| markers.iter().any(|marker| directory.join(marker).exists()));
    marked.last().unwrap_or(project).to_owned()
}
