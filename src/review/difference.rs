//! What iterations changed.

use std::io;

use thiserror::Error;

use crate::{
    event::RunId,
    git::{Colour, Detail, Difference, GitError, NoRepository, Repository},
    proc::Supervisor,
    store::paths::ProjectPaths,
};

#[derive(Debug, Error)]
pub(crate) enum DifferenceError {
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Renders what iteration `n` of `run` changed, or the last that is over, as git prints it, up to a bound; with `since`, what
/// all from that iteration on did.
///
/// # Errors
/// [`DifferenceError::Git`] as [`Repository::around`] and [`Repository::difference`]; the others if there is nothing to ask.
pub(crate) fn difference(
    paths: &ProjectPaths,
    run: &RunId,
    since: Option<u32>,
    n: Option<u32>,
    detail: Detail,
    colour: Colour,
    supervisor: &Supervisor,
) -> Result<Difference, DifferenceError> {
    let scratch = tempfile::tempdir().map_err(DifferenceError::Scratch)?;
    let (repository, _) = Repository::discover(paths.project(), scratch.path(), supervisor)?;
    let (before, after) = repository.around(run, since, n)?;
    Ok(repository.difference(&before, &after, detail, colour)?)
}
