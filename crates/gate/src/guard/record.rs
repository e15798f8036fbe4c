//! The record of a trial: the replaced files with their contents, saved before they are replaced.
//!
//! A record is a directory with a list. Without the list, no file of the project was touched yet.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    GuardError,
    originals::{read_json, write_json},
    project_dir::{FileContent, before_change},
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
    replaced: Vec<ReplacedFile>,
}

/// A replaced path with its original content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReplacedFile {
    pub(super) path: String,
    pub(super) was: FileContent,
    /// Directories above it that did not exist, outermost first.
    pub(super) made: Vec<String>,
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

    /// Adds a file. It takes effect when the record is saved.
    pub(super) fn add(&mut self, file: ReplacedFile) {
        self.list.replaced.push(file);
    }

    /// Saves the additions.
    pub(super) fn save(&self) -> Result<(), GuardError> {
        write_json(&self.directory.join(LIST), &self.list)
    }

    /// Removes the record once everything is restored.
    pub(super) fn remove(self) -> Result<(), GuardError> {
        remove(&self.directory)
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
