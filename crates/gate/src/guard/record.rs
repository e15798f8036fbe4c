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
    place::{Content, step, sync},
};

const LIST: &str = "trial.json";

/// An open record of a trial.
#[derive(Debug)]
pub(super) struct Record {
    directory: PathBuf,
    list: List,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// Part of the names of temporary files, unique to this trial.
    token: String,
    copies: usize,
    replaced: Vec<Replaced>,
}

/// A replaced path with its original and its trial contents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Replaced {
    pub(super) path: String,
    was: Kept,
    /// The contents that the trial put there, one after the other.
    puts: Vec<Kept>,
    /// Directories above it that did not exist, outermost first.
    pub(super) made: Vec<String>,
}

/// A content, with the number of the copy that holds its bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Kept {
    Nothing,
    File { copy: usize, mode: u32 },
    Link { copy: usize },
}

impl Record {
    /// Creates an unsaved record, in place of one that was never saved.
    pub(super) fn create(directory: &Path, token: String) -> Result<Record, GuardError> {
        step().map_err(GuardError::file(directory))?;
        fs::create_dir_all(directory).map_err(GuardError::file(directory))?;
        let list = List {
            token,
            ..List::default()
        };
        Ok(Record {
            directory: directory.to_owned(),
            list,
        })
    }

    pub(super) fn open(directory: &Path) -> Result<Option<Record>, GuardError> {
        let list = read_json::<List>(&directory.join(LIST))?;
        Ok(list.map(|list| Record {
            directory: directory.to_owned(),
            list,
        }))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn replaced(&self) -> &[Replaced] {
        &self.list.replaced
    }

    /// Returns the name of the temporary file for the list's entry `at`.
    pub(super) fn beside(&self, at: usize) -> String {
        format!(".ralph-{}-{at}", self.list.token)
    }

    /// Adds a path. It takes effect when the record is saved.
    pub(super) fn add(
        &mut self,
        path: &str,
        was: &Content,
        put: &Content,
        made: Vec<String>,
    ) -> Result<(), GuardError> {
        let replaced = Replaced {
            path: path.to_owned(),
            was: self.keep(was)?,
            puts: vec![self.keep(put)?],
            made,
        };
        self.list.replaced.push(replaced);
        Ok(())
    }

    /// Adds a further content of a path. It takes effect when the record is saved.
    pub(super) fn put_again(&mut self, at: usize, put: &Content) -> Result<(), GuardError> {
        let kept = self.keep(put)?;
        if let Some(replaced) = self.list.replaced.get_mut(at) {
            replaced.puts.push(kept);
        }
        Ok(())
    }

    /// Saves the additions.
    pub(super) fn save(&self) -> Result<(), GuardError> {
        write_json(&self.directory.join(LIST), &self.list)
    }

    pub(super) fn was(&self, replaced: &Replaced) -> Result<Content, GuardError> {
        self.content(&replaced.was)
    }

    /// Whether the trial put this content there.
    pub(super) fn is_put(&self, replaced: &Replaced, content: &Content) -> Result<bool, GuardError> {
        for put in &replaced.puts {
            if self.content(put)?.is_like(content) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the record once everything is restored.
    pub(super) fn remove(self) -> Result<(), GuardError> {
        remove(&self.directory)
    }

    fn keep(&mut self, content: &Content) -> Result<Kept, GuardError> {
        let copy = self.list.copies;
        let (kept, bytes) = match content {
            Content::Nothing => return Ok(Kept::Nothing),
            Content::File { bytes, mode } => (Kept::File { copy, mode: *mode }, bytes),
            Content::Link(target) => (Kept::Link { copy }, target),
        };
        let path = self.copy_path(copy);
        let write = || {
            step()?;
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            sync(&file)
        };
        write().map_err(GuardError::file(&path))?;
        self.list.copies += 1;
        Ok(kept)
    }

    fn content(&self, kept: &Kept) -> Result<Content, GuardError> {
        let read = |copy: usize| {
            let path = self.copy_path(copy);
            fs::read(&path).map_err(GuardError::file(&path))
        };
        Ok(match kept {
            Kept::Nothing => Content::Nothing,
            Kept::File { copy, mode } => Content::File {
                bytes: read(*copy)?,
                mode: *mode,
            },
            Kept::Link { copy } => Content::Link(read(*copy)?),
        })
    }

    fn copy_path(&self, copy: usize) -> PathBuf {
        self.directory.join(format!("copy-{copy}"))
    }
}

/// Removes a record, starting with its list, so that it stops being a record at once.
pub(super) fn remove(directory: &Path) -> Result<(), GuardError> {
    let removed = || {
        step()?;
        gone(fs::remove_file(directory.join(LIST)))?;
        step()?;
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
