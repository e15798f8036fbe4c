//! Copies guarded files to a store.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::{
    GuardError, GuardedKind,
    originals::{LEFT_OUT_CAP, OriginalEntry},
    project_dir::{FILE_CAP_BYTES, FileContent, PathState, ProjectDir, WriteStamp, sync},
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

    /// Adds a file as it is.
    pub(super) fn add(&mut self, path: &str, kind: GuardedKind) -> Result<(), GuardError> {
        if self.entries.len() >= FILES_CAP {
            self.leave_out(path, "there are more than 50,000 guarded files");
            return Ok(());
        }
        if kind == GuardedKind::Shadow {
            self.entries.push(OriginalEntry::empty(path, kind));
            return Ok(());
        }
        // A change between both makes the identity another one, so that the contents are compared.
        let read = self.project_dir.inspect(path);
        let read = read.and_then(|found| Ok((found, self.project_dir.read(path)?)));
        match read {
            Ok((PathState::Other, _)) => self.leave_out(path, "it is no regular file"),
            Ok((_, None)) => self.leave_out(path, TOO_LARGE),
            Ok((found, Some(content))) => {
                let identity = match found {
                    PathState::File(metadata) => Some(metadata.identity).filter(|identity| !identity.is_too_new()),
                    PathState::Nothing | PathState::Link(_) | PathState::Other => None,
                };
                return self.add_content(path, kind, &content, identity);
            }
            Err(error) => self.leave_out(path, error),
        }
        Ok(())
    }

    /// Adds a file with a content. Its identity is known if it has that content now.
    pub(super) fn add_content(
        &mut self,
        path: &str,
        kind: GuardedKind,
        content: &FileContent,
        identity: Option<WriteStamp>,
    ) -> Result<(), GuardError> {
        let entry = OriginalEntry {
            identity,
            ..OriginalEntry::empty(path, kind)
        };
        match content {
            FileContent::Nothing => Ok(()),
            FileContent::File { .. } | FileContent::Link(_) if kind == GuardedKind::Shadow => {
                self.entries.push(OriginalEntry::empty(path, kind));
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
