//! ralph's own index: tracked and untracked files with their bytes as they are, not as git would store them. It is kept
//! between checkpoints.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ralph_system::files::open_unfollowed;

use super::{
    GitError, Repository,
    entries::{self, IndexEntry},
    file_identity::FileIdentity,
    known_settings::IgnoreRuleFiles,
    process,
    state::RepositoryState,
    table::IndexTable,
};

/// A larger index is not plausible: git needs about a hundred bytes for each file.
const CAP_BYTES: u64 = 512 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexCopied {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexUpdate {
    /// Only if the user's index was replaced.
    Changed,
    /// In any case: files in ralph's index and not in the user's may be ignored by now.
    Always,
}

/// The user's index file.
enum UserIndex {
    Missing,
    /// A file that git would not leave there, or a huge one.
    Odd,
    File(File, Metadata),
}

/// The second in which an index was written; files of the same second or later may have changed since they were read.
#[derive(Debug, Clone, Copy, Default)]
struct IndexWriteTime(u32);

impl IndexWriteTime {
    fn from_metadata(metadata: &Metadata) -> IndexWriteTime {
        IndexWriteTime(u32::try_from(metadata.mtime()).unwrap_or(0))
    }
}

/// Returns the entry in a form that is safe in a later index.
fn settled(entry: IndexEntry, written: IndexWriteTime) -> IndexEntry {
    if entry.is_racy(written.0) {
        entry.unread()
    } else {
        entry
    }
}

impl Repository {
    /// Updates ralph's index from the user's, unless the user's is the same as the last time.
    ///
    /// The user's index tells which ignored files are tracked, and at first it saves reading files that it knows to be
    /// unchanged. ralph's own entries take precedence, because the user's can differ from the files.
    pub(super) fn follow_index(&self, state: &mut RepositoryState, when: IndexUpdate) -> Result<IndexCopied, GitError> {
        self.make_attribute_free()?;
        let identity = match self.open_user_index()? {
            UserIndex::Missing => FileIdentity::Missing,
            UserIndex::Odd => FileIdentity::Odd,
            UserIndex::File(_, metadata) => FileIdentity::from_metadata(&metadata),
        };
        let is_known = state.origin == Some(identity) && !self.any_appeared(&state.absent);
        if is_known && when == IndexUpdate::Changed {
            return Ok(IndexCopied::No);
        }
        if let Some(mut table) = state.table.take().filter(|_| when == IndexUpdate::Changed) {
            let (mut theirs, _) = self.read_user_index()?;
            theirs.retain(|entry| !self.excludes(&process::path(&entry.path)));
            if table.follow(&self.layout.root, &theirs) {
                state.table = Some(table);
                state.origin = Some(identity);
                return Ok(IndexCopied::No);
            }
            self.write_table(&mut table)?;
        }
        let ours = match state.origin.take() {
            Some(_) => self.read_own_index(),
            None => None,
        };
        state.last = None;
        let (theirs, written) = self.read_user_index()?;
        let merged = self.merge(theirs, written, ours);
        self.write_own_index(&merged)?;
        if identity == FileIdentity::Odd {
            state.add_notice(format!(
                "{} is not a regular file of at most {} MiB: checkpoints are made without it, and hold no ignored files.",
                self.user_index_path().display(),
                CAP_BYTES >> 20
            ));
        }
        let absent = merged.iter().filter(|entry| entry.absent);
        state.absent = absent.map(|entry| process::path(&entry.path)).collect();
        state.origin = Some(identity);
        Ok(IndexCopied::Yes)
    }

    /// Returns the files that the user's index has; ralph's also has untracked ones.
    pub(super) fn tracked(&self, paths: &[PathBuf]) -> Result<HashSet<PathBuf>, GitError> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let paths: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let (theirs, _) = self.read_user_index()?;
        let theirs = theirs.into_iter().map(|entry| process::path(&entry.path));
        Ok(theirs.filter(|path| paths.contains(path.as_path())).collect())
    }

    fn user_index_path(&self) -> PathBuf {
        self.layout.git_dir.join("index")
    }

    fn open_user_index(&self) -> Result<UserIndex, GitError> {
        let path = self.user_index_path();
        match open_unfollowed(&path) {
            Ok(Some((file, metadata))) if metadata.len() <= CAP_BYTES => Ok(UserIndex::File(file, metadata)),
            Ok(_) => Ok(UserIndex::Odd),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(UserIndex::Missing),
            Err(source) => Err(GitError::File { path, source }),
        }
    }

    /// Reads the user's index, and when it was written.
    fn read_user_index(&self) -> Result<(Vec<IndexEntry>, IndexWriteTime), GitError> {
        let UserIndex::File(file, metadata) = self.open_user_index()? else {
            return Ok((Vec::new(), IndexWriteTime::default()));
        };
        let mut bytes = Vec::new();
        let read = file.take(CAP_BYTES).read_to_end(&mut bytes);
        read.map_err(|source| GitError::File {
            path: self.user_index_path(),
            source,
        })?;
        if let Some(entries) = entries::read(&bytes, self.id_bytes) {
            return Ok((entries, IndexWriteTime::from_metadata(&metadata)));
        }
        let git = self.git().env("GIT_INDEX_FILE", self.user_index_path());
        let output = git.args(["ls-files", "-t", "--stage", "-z"]).run()?;
        let listed = entries::read_listed(&output.stdout).ok_or_else(|| output.unexpected())?;
        Ok((listed, IndexWriteTime::default()))
    }

    /// Reads ralph's index, by path; `None` if it cannot be read.
    fn read_own_index(&self) -> Option<HashMap<Vec<u8>, IndexEntry>> {
        let (file, metadata) = open_unfollowed(&self.index).ok()??;
        let mut bytes = Vec::new();
        file.take(CAP_BYTES).read_to_end(&mut bytes).ok()?;
        let written = IndexWriteTime::from_metadata(&metadata);
        let entries = entries::read(&bytes, self.id_bytes)?.into_iter();
        let whole = entries.filter(|entry| entry.stage == 0);
        Some(
            whole
                .map(|entry| (entry.path.clone(), settled(entry, written)))
                .collect(),
        )
    }

    /// Writes the table to ralph's index, unless it is written already.
    pub(super) fn write_table(&self, table: &mut IndexTable) -> Result<(), GitError> {
        if !table.is_written {
            self.write_own_index(&table.entries())?;
            (table.is_written, table.has_other_attributes) = (true, false);
        }
        Ok(())
    }

    /// Gives up the table: git works on ralph's index from here on. If the index cannot be written, the next checkpoint
    /// starts from the user's.
    pub(super) fn give_up_table(&self, state: &mut RepositoryState) -> Result<(), GitError> {
        match state.table.take() {
            Some(mut table) => self.write_table(&mut table).inspect_err(|_| state.origin = None),
            None => Ok(()),
        }
    }

    /// Reads ralph's index into a table, so that the next checkpoint needs no git. `None` if the repository is unusual,
    /// or if the index does not have the tree that git wrote.
    pub(super) fn read_table(
        &self,
        ignored: HashSet<Vec<u8>>,
        rules: IgnoreRuleFiles,
        tree: &str,
    ) -> Option<IndexTable> {
        if self.loose().is_none() || !self.include.is_empty() {
            return None;
        }
        let (theirs, _) = self.read_user_index().ok()?;
        let tracked = theirs.into_iter().map(|entry| entry.path);
        let tracked = tracked.filter(|path| !self.excludes(&process::path(path))).collect();
        let (file, metadata) = open_unfollowed(&self.index).ok()??;
        let mut bytes = Vec::new();
        file.take(CAP_BYTES).read_to_end(&mut bytes).ok()?;
        let written = IndexWriteTime::from_metadata(&metadata);
        let entries = entries::read(&bytes, self.id_bytes)?.into_iter().map(|entry| {
            let is_suspect = entry.is_racy(written.0);
            (entry, is_suspect)
        });
        let mut table = IndexTable::new(entries.collect(), tracked, ignored, rules)?;
        table.is_of(tree).then_some(table)
    }

    fn write_own_index(&self, entries: &[IndexEntry]) -> Result<(), GitError> {
        let failed = |source| GitError::File {
            path: self.index.clone(),
            source,
        };
        self.forget_index()?;
        // Renamed into place: a git that counts lines at the same time reads attributes from it and rejects half an
        // index.
        let unfinished = self.index.with_extension("new");
        fs::write(&unfinished, entries::write(entries, self.id_bytes))
            .and_then(|()| fs::rename(&unfinished, &self.index))
            .map_err(failed)
    }

    /// Combines the user's entries with ralph's knowledge of their files, which takes precedence.
    fn merge(
        &self,
        mut theirs: Vec<IndexEntry>,
        written: IndexWriteTime,
        ours: Option<HashMap<Vec<u8>, IndexEntry>>,
    ) -> Vec<IndexEntry> {
        theirs.retain(|entry| !self.excludes(&process::path(&entry.path)));
        theirs.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
        let Some(ours) = ours else {
            let converts = self.converts(&theirs);
            let first = |entry: IndexEntry| {
                let absent = entry.absent && !self.is_there(&entry.path);
                let is_news = converts || entry.absent != absent;
                let mut entry = if is_news {
                    entry.unread()
                } else {
                    settled(entry, written)
                };
                entry.absent = absent;
                entry
            };
            return theirs.into_iter().map(first).collect();
        };
        let mut merged: Vec<IndexEntry> = Vec::with_capacity(theirs.len());
        for entry in theirs {
            let known = ours.get(&entry.path).filter(|known| known.is_link() == entry.is_link());
            let absent = entry.absent && !self.is_there(&entry.path);
            match known {
                Some(known) if merged.last().is_some_and(|last| last.path == known.path) => {} // a side of a conflict
                Some(known) if known.absent == absent || absent => merged.push(known.clone()),
                // Marked as outside the work tree after its file was deleted.
                None if absent => {}
                Some(_) | None => {
                    let mut entry = entry.unread();
                    entry.absent = absent;
                    merged.push(entry);
                }
            }
        }
        merged
    }

    fn is_there(&self, path: &[u8]) -> bool {
        fs::symlink_metadata(self.layout.root.join(process::path(path))).is_ok()
    }

    /// Whether one of the files exists that should not be in the work tree.
    fn any_appeared(&self, absent: &[PathBuf]) -> bool {
        let mut directory: Option<(&Path, bool)> = None;
        absent.iter().any(|path| {
            let parent = path.parent().unwrap_or(Path::new(""));
            let is_there = match directory {
                Some((known, is_there)) if known == parent => is_there,
                Some(_) | None => self.layout.root.join(parent).is_dir(),
            };
            directory = Some((parent, is_there));
            is_there && fs::symlink_metadata(self.layout.root.join(path)).is_ok()
        })
    }

    /// Removes the index; the next checkpoint copies the user's again.
    pub(super) fn forget_index(&self) -> Result<(), GitError> {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(GitError::File { path, source }),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        self.lock().finish_naming();
        _ = self.forget_index(); // a copy, of no use to the next run
    }
}
