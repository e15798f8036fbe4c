//! What iterations changed.

use std::io;

use ralph_core::event::RunId;
use ralph_git::{After, Around, Colour, Detail, Difference, GitError, NoRepository, Repository};
use ralph_state::store::{lock, paths::ProjectPaths};
use ralph_system::proc::Supervisor;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum DifferenceError {
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A request for the changes of one iteration or several.
#[derive(Debug, Clone)]
pub(crate) struct DifferenceRequest {
    /// The iteration; none is the last that is over.
    pub n: Option<u32>,
    /// The first of several iterations, of which `n` is the last.
    pub since: Option<u32>,
    pub detail: Detail,
    pub colour: Colour,
    /// The setting `checkpoint.include` of the run, for an iteration that goes on.
    pub include: Vec<String>,
}

/// Renders what iterations of `run` changed as git prints it, up to a bound: what lies between their checkpoints or, while the
/// last of them goes on, between the first checkpoint and the files as they are now.
///
/// # Errors
/// [`DifferenceError::Git`] as [`Repository::around`] and [`Repository::difference`]; the others if there is nothing to ask.
pub(crate) fn difference(
    paths: &ProjectPaths,
    run: &RunId,
    request: DifferenceRequest,
    supervisor: &Supervisor,
) -> Result<Difference, DifferenceError> {
    let DifferenceRequest {
        n,
        since,
        detail,
        colour,
        include,
    } = request;
    let scratch = tempfile::tempdir().map_err(DifferenceError::Scratch)?;
    let (repository, _) = Repository::discover(paths.project(), scratch.path(), supervisor)?;
    let repository = repository.including(include).sparing(paths.states());
    let Around { before, after } = repository.around(run, since, n)?;
    let after = match after {
        After::Checkpoint(after) => Some(after),
        After::NotYet(_) if lock::running(paths).as_ref() == Some(run) => None,
        After::NotYet(why) => return Err(why.into()),
    };
    Ok(repository.difference(&before, after.as_ref(), detail, colour)?)
}
