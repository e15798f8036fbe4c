//! A trial: original guarded files are in place until it is ended.
//!
//! The agent's files are saved in the record before the first of them is replaced, so [`OpenTrial::recover`] can restore
//! them after any interruption. Restored files get a new time ([`super::project_dir`]), so that build tools notice the change.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    GuardError, Originals,
    project_dir::{Durable, FILE_CAP_BYTES, FileContent, PathState, ProjectDir},
    record::{self, ReplacedFile, TrialRecord},
};

const NAMES_CAP: usize = 10_000;

/// Original guarded files in place of the agent's until the trial is ended.
///
/// Dropping it does not end it; [`OpenTrial::recover`] does.
#[derive(Debug)]
#[must_use = "the agent's files are put back by `end`"]
pub struct OpenTrial {
    project: PathBuf,
    project_dir: ProjectDir,
    record: TrialRecord,
    refused: Vec<String>,
}

impl OpenTrial {
    /// Replaces changed guarded files with the originals. `record` is a directory of the trial's own outside the
    /// project; an earlier trial recorded there is recovered first.
    ///
    /// # Errors
    /// [`GuardError`] if files cannot be read or replaced. Files that were already replaced are restored.
    pub fn begin(originals: &Originals, project: &Path, record: &Path) -> Result<OpenTrial, GuardError> {
        OpenTrial::recover(record, project)?;
        OpenTrial::replacing(originals.compared(project)?.1, project, record)
    }

    /// Replaces files with `files`, each with its path, as [`OpenTrial::begin`] does with guarded files.
    ///
    /// # Errors
    /// As [`OpenTrial::begin`].
    pub fn replacing(
        files: Vec<(String, FileContent)>,
        project: &Path,
        record: &Path,
    ) -> Result<OpenTrial, GuardError> {
        OpenTrial::recover(record, project)?;
        let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
        let mut trial = OpenTrial {
            project: project.to_owned(),
            project_dir,
            record: TrialRecord::create(record, token())?,
            refused: Vec::new(),
        };
        let mut puts = Vec::new();
        for (path, put) in files {
            if trial.add(&path)? {
                puts.push(put);
            } else {
                trial.refused.push(path);
            }
        }
        trial.record.save()?;
        for (at, put) in puts.iter().enumerate() {
            let placed = trial.put_in_place(at, put);
            if let Err(error) = placed {
                trial.end()?;
                return Err(error);
            }
        }
        Ok(trial)
    }

    /// Returns originals that could not be put in place because a directory, a link or something else is in the way.
    /// Results of goals in such a trial are not results for the originals.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Returns the replaced files.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.record.replaced().iter().map(|replaced| replaced.path.as_str())
    }

    /// Replaces a file with other bytes until the end of the trial, which restores the agent's content.
    ///
    /// # Errors
    /// [`GuardError`] if something else than a file is there, or if it cannot be replaced. The trial continues.
    pub fn substitute(&mut self, path: &str, bytes: &[u8]) -> Result<(), GuardError> {
        let found = self.at(path, self.project_dir.inspect(path))?;
        let mode = if let PathState::File(metadata) = found {
            metadata.mode
        } else {
            0o644
        };
        let bytes = bytes.to_vec();
        self.replace(path, &FileContent::File { bytes, mode })
    }

    /// Removes a file until the end of the trial.
    ///
    /// # Errors
    /// As [`OpenTrial::substitute`].
    pub fn remove(&mut self, path: &str) -> Result<(), GuardError> {
        self.replace(path, &FileContent::Nothing)
    }

    /// Replaces a file with other content until the end of the trial.
    ///
    /// # Errors
    /// As [`OpenTrial::substitute`].
    pub fn replace(&mut self, path: &str, put: &FileContent) -> Result<(), GuardError> {
        let known = self.record.replaced().iter().position(|replaced| replaced.path == path);
        let at = match known {
            Some(at) => at,
            None if self.add(path)? => {
                self.record.save()?;
                self.record.replaced().len() - 1
            }
            None => {
                return Err(GuardError::Blocked {
                    paths: vec![path.to_owned()],
                    record: self.record.directory().to_owned(),
                });
            }
        };
        self.put_in_place(at, put)
    }

    /// Restores the agent's files and removes the record. Returns the restored files, including removed ones. A directory that
    /// the trial created stays if something of a goal is in it.
    ///
    /// # Errors
    /// [`GuardError::Blocked`] names files that cannot be restored. All others are restored, and the record stays.
    pub fn end(self) -> Result<Vec<String>, GuardError> {
        let (mut restored, mut blocked) = (Vec::new(), Vec::new());
        for (at, replaced) in self.record.replaced().iter().enumerate().rev() {
            match self.put_back(at, replaced)? {
                Some(true) => restored.push(replaced.path.clone()),
                Some(false) => {}
                None => blocked.push(replaced.path.clone()),
            }
        }
        // Innermost first, once all files of the trial are removed from them.
        let made: BTreeSet<&String> = self
            .record
            .replaced()
            .iter()
            .flat_map(|replaced| &replaced.made)
            .collect();
        for directory in made.into_iter().rev() {
            self.at(directory, self.remove_made(directory))?;
        }
        if !blocked.is_empty() {
            return Err(GuardError::Blocked {
                paths: blocked,
                record: self.record.directory().to_owned(),
            });
        }
        restored.sort();
        self.record.remove()?;
        Ok(restored)
    }

    /// Ends a trial that was interrupted at any point; `None` if no trial is recorded.
    ///
    /// # Errors
    /// As [`OpenTrial::end`].
    pub fn recover(record: &Path, project: &Path) -> Result<Option<Vec<String>>, GuardError> {
        let Some(open) = TrialRecord::open(record)? else {
            // A record that was never saved.
            record::remove(record)?;
            return Ok(None);
        };
        let trial = OpenTrial {
            project: project.to_owned(),
            project_dir: ProjectDir::open(project).map_err(GuardError::file(project))?,
            record: open,
            refused: Vec::new(),
        };
        trial.end().map(Some)
    }

    /// Records a file to be replaced; returns false if it cannot be.
    fn add(&mut self, path: &str) -> Result<bool, GuardError> {
        let was = self.at(path, self.project_dir.read(path))?;
        let made = self.at(path, self.project_dir.missing_parents(path))?;
        let (Some(was), Some(made)) = (was, made) else {
            return Ok(false);
        };
        let path = path.to_owned();
        self.record.add(ReplacedFile { path, was, made });
        Ok(true)
    }

    fn put_in_place(&self, at: usize, put: &FileContent) -> Result<(), GuardError> {
        let Some(replaced) = self.record.replaced().get(at) else {
            return Ok(());
        };
        let (path, beside) = (&replaced.path, self.record.beside(at));
        self.at(path, self.project_dir.put(path, put, &beside, Durable::No))
    }

    /// Names the file of an error.
    fn at<T>(&self, path: &str, done: io::Result<T>) -> Result<T, GuardError> {
        done.map_err(GuardError::file(&self.project.join(path)))
    }

    /// Restores one file. Returns whether it was another one; `None` if something is in the way.
    fn put_back(&self, at: usize, replaced: &ReplacedFile) -> Result<Option<bool>, GuardError> {
        let path = &replaced.path;
        let beside = self.record.beside(at);
        self.at(path, self.remove_beside(path, &beside))?;
        let current = match self.at(path, self.project_dir.inspect(path))? {
            PathState::Other => return Ok(None),
            // Too large to be a file of the trial.
            PathState::File(metadata) if metadata.len > FILE_CAP_BYTES => None,
            PathState::File(_) | PathState::Link(_) | PathState::Nothing => {
                self.at(path, self.project_dir.read(path))?
            }
        };
        if current.as_ref() == Some(&replaced.was) {
            return Ok(Some(false));
        }
        let put = self.project_dir.put(path, &replaced.was, &beside, Durable::Yes);
        self.at(path, put).map(|()| Some(true))
    }

    /// Removes the temporary file that an interrupted trial left beside a file.
    fn remove_beside(&self, path: &str, beside: &str) -> io::Result<()> {
        let path = match path.rsplit_once('/') {
            Some((directory, _)) => format!("{directory}/{beside}"),
            None => beside.to_owned(),
        };
        match self.project_dir.inspect(&path)? {
            PathState::File(_) | PathState::Link(_) => self.project_dir.remove(&path),
            PathState::Nothing | PathState::Other => Ok(()),
        }
    }

    /// Removes a directory that the trial created, including Python's cache in it, unless it has other files.
    fn remove_made(&self, directory: &str) -> io::Result<()> {
        if self.project_dir.remove_directory(directory)? {
            return Ok(());
        }
        let cache = format!("{directory}/__pycache__");
        for name in self.project_dir.names(&cache, NAMES_CAP).unwrap_or_default() {
            let path = format!("{cache}/{name}");
            if matches!(self.project_dir.inspect(&path)?, PathState::File(_)) {
                self.project_dir.remove(&path)?;
            }
        }
        self.project_dir.remove_directory(&cache)?;
        self.project_dir.remove_directory(directory).map(drop)
    }
}

fn token() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("trial-{}-{:x}", process::id(), now.as_nanos())
}
