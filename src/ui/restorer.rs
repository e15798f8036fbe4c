//! Restores the files of a project to a checkpoint of a run: for `ralph restore`, and for a screen.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use ralph_core::event::RunId;
use ralph_driver::{OpenError, hold};
use ralph_git::{CheckpointPosition, GitError, Moment, NoRepository, Repository, RestoreResult};
use ralph_review::repository;
use ralph_state::{control, store::lock};
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::{escape_name, with_causes};
use ralph_ui::tui::{RestoreTarget, Restorer};
use ralph_words::counted;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum RestoreError {
    /// A run of the project goes on.
    #[error("ralph is working on these files")]
    Working,
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error(transparent)]
    Processes(#[from] OpenError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Whether a loop uses the files of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopUse {
    None,
    /// Its run is over, and a screen shows the end.
    ShowsEnd,
    Works,
}

fn loop_use(paths: &ProjectPaths) -> LoopUse {
    if !lock::is_held(paths) {
        return LoopUse::None;
    }
    match control::status(&paths.socket()) {
        Ok(status) if status.over => LoopUse::ShowsEnd,
        // A loop that does not answer may be at work.
        Ok(_) | Err(_) => LoopUse::Works,
    }
}

/// Refuses a restore while a loop works on the files.
///
/// # Errors
/// [`RestoreError::Working`].
pub(crate) fn refuse_while_working(paths: &ProjectPaths) -> Result<(), RestoreError> {
    match loop_use(paths) {
        LoopUse::Works => Err(RestoreError::Working),
        LoopUse::None | LoopUse::ShowsEnd => Ok(()),
    }
}

/// The checkpoint of a target.
///
/// # Errors
/// [`GitError::NothingRestored`] if there is no restore to undo.
pub(crate) fn position(
    repository: &Repository,
    run: &RunId,
    target: RestoreTarget,
) -> Result<CheckpointPosition, GitError> {
    let iteration = |n, moment| CheckpointPosition::Iteration { n, moment };
    match target {
        RestoreTarget::Before(n) => Ok(iteration(n, Moment::Before)),
        RestoreTarget::After(n) => Ok(iteration(n, Moment::After)),
        RestoreTarget::Undo => {
            let last = repository.last_restoring(run)?;
            last.ok_or_else(|| GitError::NothingRestored { run: run.clone() })
        }
    }
}

/// Restores the files. Processes that a killed ralph left behind are ended first.
///
/// # Errors
/// [`RestoreError`]; nothing has changed then.
pub(crate) fn restore(
    repository: &Repository,
    paths: &ProjectPaths,
    run: &RunId,
    position: CheckpointPosition,
    supervisor: &Supervisor,
) -> Result<RestoreResult, RestoreError> {
    let _helpers = match loop_use(paths) {
        LoopUse::Works => return Err(RestoreError::Working),
        LoopUse::None => Some(hold(paths, supervisor)?),
        // It has their lock, and none of them runs.
        LoopUse::ShowsEnd => None,
    };
    Ok(repository.restore_at(run, position)?)
}

/// `3 files written, 1 deleted`; what did not happen is left out.
pub(crate) fn restored_in_words(restored: &RestoreResult) -> String {
    let nested = || restored.nested.iter();
    let written = restored.written.len() + nested().map(|nested| nested.written.len()).sum::<usize>();
    let deleted = restored.deleted.len() + nested().map(|nested| nested.deleted.len()).sum::<usize>();
    let written = format!("{} written", counted(written as u64, "file"));
    match deleted {
        0 => written,
        deleted => format!("{written}, {deleted} deleted"),
    }
}

/// The work done in repositories inside the project and the work left there, a line for each.
pub(crate) fn nested_in_words(restored: &RestoreResult) -> Vec<String> {
    let mut lines = Vec::new();
    for nested in &restored.nested {
        let path = |path: &Path| escape_name(&path.to_string_lossy());
        let files = |what: &str, files: &[PathBuf]| {
            let line = |file: &PathBuf| format!("{}: {what} {}", path(&nested.path), path(file));
            files.iter().map(line).collect::<Vec<_>>()
        };
        lines.extend(files("wrote", &nested.written));
        lines.extend(files("deleted", &nested.deleted));
        let head = nested.moved.as_ref().map(|commit| format!("checked out {commit}"));
        let said = head.into_iter().chain(nested.left.clone());
        lines.extend(said.map(|said| format!("{}: {}", path(&nested.path), escape_name(&said))));
    }
    lines
}

/// The restores that a screen of `run` asks for, one at a time.
pub(super) fn restorer(paths: &ProjectPaths, run: &RunId, include: Vec<String>, supervisor: &Supervisor) -> Restorer {
    let (paths, run, supervisor) = (paths.clone(), run.clone(), supervisor.clone());
    let alone = Mutex::new(());
    Arc::new(move |target| {
        let _alone = alone.lock();
        let scratch = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
        let restored = repository(&paths, scratch.path(), include.clone(), &supervisor)
            .map_err(RestoreError::from)
            .and_then(|repository| {
                let position = position(&repository, &run, target)?;
                restore(&repository, &paths, &run, position, &supervisor)
            })
            .map_err(|error| with_causes(&error))?;
        let said = [restored_in_words(&restored)]
            .into_iter()
            .chain(nested_in_words(&restored))
            .chain(restored.notices.clone());
        Ok(said.collect::<Vec<_>>().join(". "))
    })
}
