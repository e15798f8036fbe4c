//! The changes of iterations as a patch.

use std::{
    io,
    path::{Path, PathBuf},
};

use ralph_core::event::RunId;
use ralph_git::{AfterCheckpoint, DiffColour, DiffDetail, GitError, IterationCheckpoints, NoRepository, RenderedDiff};
use ralph_state::store::lock;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use thiserror::Error;

use super::repository::repository;

#[derive(Debug, Error)]
pub enum DifferenceError {
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A request for the changes of one iteration or several.
#[derive(Debug, Clone)]
pub struct DifferenceRequest {
    /// The iteration; `None` for the last one that is over.
    pub n: Option<u32>,
    /// The first of several iterations, of which `n` is the last.
    pub since: Option<u32>,
    /// The files and directories of the project that are shown; empty for all.
    pub only: Vec<String>,
    pub detail: DiffDetail,
    pub colour: DiffColour,
    /// The setting `checkpoint.include` of the run, for an iteration that still runs.
    pub include: Vec<String>,
    /// The plan of the run, which comes last.
    pub plan: PathBuf,
}

/// Renders the changes of iterations of `run` in git's format, up to a size limit. The patch lies between the
/// checkpoints around them or, while the last of them runs, between the first checkpoint and the current files.
///
/// # Errors
/// [`DifferenceError::Scratch`] without a temporary directory, [`DifferenceError::NoRepository`] without a repository,
/// [`DifferenceError::Git`] as [`ralph_git::Repository::around`] and [`ralph_git::Repository::difference`].
pub fn difference(
    paths: &ProjectPaths,
    run: &RunId,
    request: DifferenceRequest,
    supervisor: &Supervisor,
) -> Result<RenderedDiff, DifferenceError> {
    let DifferenceRequest {
        n,
        since,
        only,
        detail,
        colour,
        include,
        plan,
    } = request;
    let scratch = tempfile::tempdir().map_err(DifferenceError::Scratch)?;
    let repository = repository(paths, scratch.path(), include, supervisor)?;
    let IterationCheckpoints { before, after } = repository.around(run, since, n)?;
    let after = match after {
        AfterCheckpoint::Checkpoint(after) => Some(after),
        AfterCheckpoint::NotYet(_) if lock::running(paths).as_ref() == Some(run) => None,
        AfterCheckpoint::NotYet(why) => return Err(why.into()),
    };
    let project = paths.project().strip_prefix(repository.root()).unwrap_or(Path::new(""));
    let only: Vec<PathBuf> = only.iter().map(|path| project.join(path)).collect();
    Ok(repository.difference(&before, after.as_ref(), detail, colour, &only, &plan)?)
}
