//! The project that a command works on, and whether ralph can work there.

use std::{
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ralph_system::{
    paths::ProjectPaths,
    real_paths::RealPaths,
    scratch::{ScratchDirectory, sweep},
};

use super::OwnFiles;
use crate::error::{Failure, FailureKind};

/// Makes a directory for the files of a command that starts programs outside of a run. It is in ralph's state, where a
/// confined agent cannot change what is started. What a killed command left there is removed.
///
/// # Errors
/// The file system's error, with the path that cannot be made.
pub(crate) fn check_files(paths: &ProjectPaths) -> io::Result<ScratchDirectory> {
    let directory = paths.checks();
    sweep(&directory);
    // A ralph that a confined agent has started cannot write to the state. It has no more rights than that agent.
    ScratchDirectory::new(&directory).or_else(|_| ScratchDirectory::new(&std::env::temp_dir()))
}

/// The project and the place of its state.
#[derive(Debug, Clone)]
pub(crate) struct ProjectPlace {
    /// The project's directory, canonical.
    pub project: PathBuf,
    /// The project's own files that are in effect: none unless a caller has checked their trust.
    pub own: OwnFiles,
    pub paths: ProjectPaths,
}

impl ProjectPlace {
    /// Takes the current directory as the project.
    ///
    /// # Errors
    /// A [`Failure`] if the directory is gone, or if there is no place for state.
    pub(crate) fn current(state_dir: Option<&Path>) -> Result<Self, Failure> {
        let project = std::env::current_dir()
            .and_then(|dir| dir.canonicalize())
            .map_err(|error| {
                Failure::new(
                    FailureKind::Failed,
                    format!("the current directory is unusable: {error}"),
                )
                .hint("change to the directory of your project, and try again")
            })?;
        Self::for_project(project, state_dir)
    }

    /// Takes `project`, which is canonical.
    ///
    /// # Errors
    /// A [`Failure`] if its path is not UTF-8, or if there is no place for state that is the user's own.
    pub(crate) fn for_project(project: PathBuf, state_dir: Option<&Path>) -> Result<Self, Failure> {
        // Journals, prompts and reports contain the path, and all of them are text.
        if let Some(odd) = not_utf8(&project) {
            return Err(Failure::new(
                FailureKind::Configuration,
                format!("the project's path is not valid UTF-8: {}", project.display()),
            )
            .hint(format!(
                "rename the directory: mv $'{}' NEW-NAME",
                odd.as_os_str().as_bytes().escape_ascii()
            )));
        }
        let state_dir = state_dir.map(std::path::absolute).transpose().map_err(|error| {
            Failure::new(
                FailureKind::Usage,
                format!("the state directory has no absolute path: {error}"),
            )
        })?;
        let paths = ProjectPaths::new(&project, state_dir.as_deref())?;
        paths.check_state()?;
        Ok(Self {
            own: OwnFiles::none(&project),
            project,
            paths,
        })
    }
}

/// Resolves symbolic links in the existing part of the path.
pub(super) fn where_it_leads(path: &Path) -> PathBuf {
    RealPaths::default().leads_to(path)
}

/// The first ancestor of `path` whose name is not UTF-8.
fn not_utf8(path: &Path) -> Option<&Path> {
    let way: Vec<&Path> = path.ancestors().collect();
    way.into_iter().rev().find(|part| part.to_str().is_none())
}
