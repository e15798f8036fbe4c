//! Makes patches for a screen that asks for them now and then.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ralph_core::event::Checkpoint;
use ralph_system::paths::{PathsError, ProjectPaths, States, create_private_dir};
use ralph_system::proc::Supervisor;
use thiserror::Error;

use super::{GitError, NoRepository, Repository};

/// A repository with an index of its own, found when the first patch is asked for. It never waits for the loop's.
#[derive(Debug)]
pub struct Differ {
    project: PathBuf,
    scratch: PathBuf,
    states: States,
    include: Vec<String>,
    supervisor: Supervisor,
    repository: Mutex<Option<Repository>>,
}

#[derive(Debug, Error)]
pub enum DifferError {
    #[error(transparent)]
    Scratch(#[from] PathsError),
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Differ {
    /// `include` is the run's setting, so that ignored files which checkpoints include are on both sides of a patch.
    pub fn new(paths: &ProjectPaths, scratch: PathBuf, include: Vec<String>, supervisor: &Supervisor) -> Self {
        Self {
            project: paths.project().to_owned(),
            scratch,
            states: paths.states(),
            include,
            supervisor: supervisor.clone(),
            repository: Mutex::new(None),
        }
    }

    /// Makes the patch from one checkpoint to another, or to the files as they are now, with the plan last.
    ///
    /// # Errors
    /// [`DifferError`] if there is no repository, or as [`Repository::patch`].
    pub fn patch(&self, from: &Checkpoint, to: Option<&Checkpoint>, plan: &Path) -> Result<String, DifferError> {
        let mut found = self.repository.lock();
        let repository = match found.take() {
            Some(repository) => repository,
            None => self.discover()?,
        };
        let patch = repository.patch(from, to, plan);
        *found = Some(repository);
        Ok(patch?)
    }

    fn discover(&self) -> Result<Repository, DifferError> {
        create_private_dir(&self.scratch)?;
        let (repository, _) = Repository::discover(&self.project, &self.scratch, &self.states, &self.supervisor)?;
        Ok(repository
            .including(self.include.clone())
            .excluding_state(self.states.clone()))
    }
}
