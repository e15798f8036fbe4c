//! The repository that holds the checkpoints of a project.

use std::path::Path;

use ralph_git::{NoRepository, Repository};
use ralph_system::{paths::ProjectPaths, proc::Supervisor};

/// Finds the repository of a project, with `scratch` as the place of ralph's index. If the repository is gone, its
/// checkpoints are still read and restored.
///
/// # Errors
/// [`NoRepository`] if there are no checkpoints.
pub fn repository(
    paths: &ProjectPaths,
    scratch: &Path,
    include: Vec<String>,
    supervisor: &Supervisor,
) -> Result<Repository, NoRepository> {
    let (repository, _) = Repository::discover_or_store(paths.project(), scratch, &paths.states(), supervisor)?;
    Ok(repository.including(include).excluding_state(paths.states()))
}
