//! The record of a trial: the replaced files, saved before they are replaced.
//!
//! A record is a directory with numbered copies and a list that refers to them. Copies are written before the list,
//! so every listed copy exists. Without a list, no file of the project was touched yet.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    GuardError,
    originals::{read_json, write_json},
    project_dir::{FileContent, before_change, sync},
};

const LIST: &str = "trial.json";

/// An open record of a trial.
#[derive(Debug)]
pub(super) struct TrialRecord {
    directory: PathBuf,
    list: TrialList,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrialList {
    /// Part of the names of temporary files, unique to this trial.
    token: String,
    copies: usize,
    replaced: Vec<ReplacedFile>,
}

/// A replaced path with its original content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReplacedFile {
    pub(super) path: String,
    was: SavedContent,
    /// Directories above it that did not exist, outermost first.
    pub(super) made: Vec<String>,
}

/// A content, with the number of the copy that holds its bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum SavedContent {
    Nothing,
    File { copy: usize, mode: u32 },
    Link { copy: usize },
}

impl TrialRecord {
    /// Creates an unsaved record, in place of one that was never saved.
    pub(super) fn create(directory: &Path, token: String) -> Result<TrialRecord, GuardError> {
        before_change().map_err(GuardError::file(directory))?;
        fs::create_dir_all(directory).map_err(GuardError::file(directory))?;
        let list = TrialList {
            token,
            ..TrialList::default()
        };
        Ok(TrialRecord {
            directory: directory.to_owned(),
            list,
        })
    }

    pub(super) fn open(directory: &Path) -> Result<Option<TrialRecord>, GuardError> {
        let list = read_json::<TrialList>(&directory.join(LIST))?;
        Ok(list.map(|list| TrialRecord {
            directory: directory.to_owned(),
            list,
        }))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn replaced(&self) -> &[ReplacedFile] {
        &self.list.replaced
    }

    /// Returns the name of the temporary file for the list's entry `at`.
    pub(super) fn beside(&self, at: usize) -> String {
        format!(".ralph-{}-{at}", self.list.token)
    }

    /// Adds a path. It takes effect when the record is saved.
    pub(super) fn add(&mut self, path: &str, was: &FileContent, made: Vec<String>) -> Result<(), GuardError> {
        let replaced = ReplacedFile {
            path: path.to_owned(),
            was: self.keep(was)?,
            made,
        };
        self.list.replaced.push(replaced);
        Ok(())
    }

    /// Saves the additions.
    pub(super) fn save(&self) -> Result<(), GuardError> {
        write_json(&self.directory.join(LIST), &self.list)
    }

    pub(super) fn was(&self, replaced: &ReplacedFile) -> Result<FileContent, GuardError> {
        self.content(&replaced.was)
    }

    /// Removes the record once everything is restored.
    pub(super) fn remove(self) -> Result<(), GuardError> {
        remove(&self.directory)
    }

    fn keep(&mut self, content: &FileContent) -> Result<SavedContent, GuardError> {
        let copy = self.list.copies;
        let (kept, bytes) = match content {
            FileContent::Nothing => return Ok(SavedContent::Nothing),
            FileContent::File { bytes, mode } => (SavedContent::File { copy, mode: *mode }, bytes),
            FileContent::Link(target) => (SavedContent::Link { copy }, target),
        };
        let path = self.copy_path(copy);
        let write = || {
            before_change()?;
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            sync(&file)
        };
        write().map_err(GuardError::file(&path))?;
        self.list.copies += 1;
        Ok(kept)
    }

    fn content(&self, kept: &SavedContent) -> Result<FileContent, GuardError> {
        let read = |copy: usize| {
            let path = self.copy_path(copy);
            fs::read(&path).map_err(GuardError::file(&path))
        };
        Ok(match kept {
            SavedContent::Nothing => FileContent::Nothing,
            SavedContent::File { copy, mode } => FileContent::File {
                bytes: read(*copy)?,
                mode: *mode,
            },
            SavedContent::Link { copy } => FileContent::Link(read(*copy)?),
        })
    }

    fn copy_path(&self, copy: usize) -> PathBuf {
        self.directory.join(format!("copy-{copy}"))
    }
}

/// Removes a record, starting with its list, so that it stops being a record at once.
pub(super) fn remove(directory: &Path) -> Result<(), GuardError> {
    let removed = || {
        before_change()?;
        gone(fs::remove_file(directory.join(LIST)))?;
        before_change()?;
        gone(fs::remove_dir_all(directory))
    };
    removed().map_err(GuardError::file(directory))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
