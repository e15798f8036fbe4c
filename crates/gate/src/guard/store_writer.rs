//! Copies guarded files to a store.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::{
    FILE_CAP_BYTES, GuardError, GuardedKind,
    originals::{LEFT_OUT_CAP, OriginalEntry},
    project_dir::{FileContent, PathState, ProjectDir, sync},
    rust,
    walk::UnguardedPath,
};

const FILES_CAP: usize = 50_000;
const TOO_LARGE: &str = "it is larger than 16 MiB";
const TOTAL_CAP_BYTES: u64 = 512 << 20;

/// Copies files to a store, one after the other.
pub(super) struct StoreWriter {
    project_dir: ProjectDir,
    copies: BufWriter<File>,
    path: PathBuf,
    at: u64,
    entries: Vec<OriginalEntry>,
    left_out: Vec<UnguardedPath>,
}

impl StoreWriter {
    pub(super) fn new(project: &Path, copies: &Path) -> Result<StoreWriter, GuardError> {
        Ok(StoreWriter {
            project_dir: ProjectDir::open(project).map_err(GuardError::file(project))?,
            copies: BufWriter::new(File::create(copies).map_err(GuardError::file(copies))?),
            path: copies.to_owned(),
            at: 0,
            entries: Vec::new(),
            left_out: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, path: &str, kind: GuardedKind) -> Result<(), GuardError> {
        if self.entries.len() >= FILES_CAP {
            self.leave_out(path, "there are more than 50,000 guarded files");
            return Ok(());
        }
        if kind == GuardedKind::Shadow {
            self.entries.push(OriginalEntry::empty(path, kind));
            return Ok(());
        }
        match self.read(path) {
            Ok(Some((_, bytes))) if kind == GuardedKind::Rust && !has_blocks(&bytes) => Ok(()),
            Ok(Some((entry, bytes))) => self.keep(OriginalEntry { kind, ..entry }, &bytes),
            Ok(None) => Ok(()),
            Err(error) => {
                self.leave_out(path, error);
                Ok(())
            }
        }
    }

    /// Adds a file with a content that it had earlier.
    pub(super) fn add_content(
        &mut self,
        path: &str,
        kind: GuardedKind,
        content: &FileContent,
    ) -> Result<(), GuardError> {
        let entry = OriginalEntry::empty(path, kind);
        match content {
            FileContent::Nothing => Ok(()),
            FileContent::File { .. } | FileContent::Link(_) if kind == GuardedKind::Shadow => {
                self.entries.push(entry);
                Ok(())
            }
            FileContent::File { bytes, .. } if kind == GuardedKind::Rust && !has_blocks(bytes) => Ok(()),
            FileContent::File { bytes, .. } if bytes.len() as u64 > FILE_CAP_BYTES => {
                self.leave_out(path, TOO_LARGE);
                Ok(())
            }
            FileContent::File { bytes, mode } => self.keep(OriginalEntry { mode: *mode, ..entry }, bytes),
            FileContent::Link(target) => self.keep(OriginalEntry { link: true, ..entry }, target),
        }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.path == path)
    }

    /// Reads a file; `None` if it is gone.
    fn read(&self, path: &str) -> io::Result<Option<(OriginalEntry, Vec<u8>)>> {
        let entry = OriginalEntry::empty(path, GuardedKind::Test);
        match self.project_dir.inspect(path)? {
            PathState::Nothing => Ok(None),
            PathState::Other => Err(io::Error::other("it is no regular file")),
            PathState::Link(target) => Ok(Some((OriginalEntry { link: true, ..entry }, target))),
            PathState::File(metadata) if metadata.len > FILE_CAP_BYTES => Err(io::Error::other(TOO_LARGE)),
            PathState::File(_) => {
                let (metadata, bytes) = self.project_dir.read_file(path)?;
                let identity = (!metadata.identity.is_too_new()).then_some(metadata.identity);
                Ok(Some((
                    OriginalEntry {
                        identity,
                        mode: metadata.mode,
                        ..entry
                    },
                    bytes,
                )))
            }
        }
    }

    fn keep(&mut self, entry: OriginalEntry, bytes: &[u8]) -> Result<(), GuardError> {
        let len = bytes.len() as u64;
        if self.at + len > TOTAL_CAP_BYTES {
            self.leave_out(&entry.path, "guarded files have more than 512 MiB");
            return Ok(());
        }
        self.copies.write_all(bytes).map_err(GuardError::file(&self.path))?;
        self.entries.push(OriginalEntry {
            at: self.at,
            len,
            ..entry
        });
        self.at += len;
        Ok(())
    }

    fn leave_out(&mut self, path: &str, why: impl ToString) {
        if self.left_out.len() < LEFT_OUT_CAP {
            self.left_out.push(UnguardedPath::new(path, why));
        }
    }

    pub(super) fn finish(mut self) -> Result<(Vec<OriginalEntry>, Vec<UnguardedPath>), GuardError> {
        let written = self.copies.flush().and_then(|()| sync(self.copies.get_ref()));
        written.map_err(GuardError::file(&self.path))?;
        Ok((self.entries, self.left_out))
    }
}

fn has_blocks(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(|text| !rust::likenesses(text).is_empty())
}
