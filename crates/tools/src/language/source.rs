//! Files of the project, read as whoever asks for them could: in the sandbox, if there is one.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ralph_system::files::{self, ReadError};
use ralph_text::with_causes;

use super::{facts::NoAnswer, position::Text};

/// Most bytes of a file that a server is handed.
pub(super) const FILE_CAP_BYTES: u64 = 4 << 20;

/// What tells whether a file is still what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
}

impl Stamp {
    /// That of a regular file.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Stamp {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        })
    }
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) text: Text,
    pub(super) stamp: Stamp,
    /// It begins with a byte order mark, which is not in the text.
    pub(super) marked: bool,
}

pub(super) const MARK: char = '\u{feff}';

/// Reads a text. The stamp is that from before it was read, so that what changed meanwhile shows.
pub fn read(path: &Path) -> Result<Source, ReadError> {
    let stamp = Stamp::of(path).ok_or_else(|| match files::read_head(path, 0) {
        Err(error) => error,
        Ok(_) => io::Error::from(io::ErrorKind::NotFound).into(),
    })?;
    let marked = files::read_head(path, 3)?.starts_with("\u{feff}".as_bytes());
    let text = files::read_text(path, FILE_CAP_BYTES)?;
    Ok(Source {
        text: Text::new(text),
        stamp,
        marked,
    })
}

/// The path of a file of `project`, without links.
pub(super) fn resolve(project: &Path, file: &str) -> Result<PathBuf, NoAnswer> {
    let named = super::uri::to_path(file).unwrap_or_else(|| PathBuf::from(file));
    let path = fs::canonicalize(project.join(named)).map_err(|error| NoAnswer::Unreadable {
        file: file.to_owned(),
        why: with_causes(&error),
    })?;
    match path.starts_with(project) {
        true => Ok(path),
        false => Err(NoAnswer::Outside { file: file.to_owned() }),
    }
}

/// A path as it is told: relative to the project where it is in it.
pub(super) fn told(project: &Path, path: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// The directory in which a server for `file` begins: the outermost of the project that has one of `markers`.
pub(super) fn root_of(project: &Path, file: &Path, markers: &[String]) -> PathBuf {
    let above = file
        .ancestors()
        .skip(1)
        .take_while(|directory| directory.starts_with(project));
    let marked = above.filter(|directory| markers.iter().any(|marker| directory.join(marker).exists()));
    marked.last().unwrap_or(project).to_owned()
}
