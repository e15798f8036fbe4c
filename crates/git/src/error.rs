//! Reasons why a project has no checkpoints, and errors of git.

use std::{io, path::PathBuf};

use ralph_core::event::RunId;
use thiserror::Error;

/// The reason why a project has no checkpoints.
#[derive(Debug, Error)]
pub enum NoRepository {
    #[error("git is not installed")]
    NoGit,
    #[error("{path}: not in a git repository", path = path.display())]
    NotARepository { path: PathBuf },
    #[error("{path}: a bare repository has no work tree", path = path.display())]
    Bare { path: PathBuf },
    #[error("{path}: inside of a repository's own directory", path = path.display())]
    InsideGitDirectory { path: PathBuf },
    #[error("{path}: ignored by the repository {root}", path = path.display(), root = root.display())]
    Ignored { path: PathBuf, root: PathBuf },
    #[error("{root}: a repository of everything in a home directory is not checkpointed", root = root.display())]
    Home { root: PathBuf },
    /// The repository's configuration places its work tree elsewhere.
    #[error("`core.worktree` of {git_dir} leads away from the project, to {to}",
        git_dir = git_dir.display(), to = to.display())]
    WorkTreeElsewhere { git_dir: PathBuf, to: PathBuf },
    /// The repository's configuration places its references elsewhere.
    #[error("{git_dir}/commondir leads to another repository, {to}", git_dir = git_dir.display(), to = to.display())]
    ReferencesElsewhere { git_dir: PathBuf, to: PathBuf },
    /// `.git` names a git directory elsewhere, which names neither this work tree nor its `.git`.
    #[error("`.git` of {root} leads to {git_dir}, which belongs to another work tree",
        root = root.display(), git_dir = git_dir.display())]
    ForeignGitDirectory { git_dir: PathBuf, root: PathBuf },
    #[error("the repository cannot be read")]
    Unreadable(#[source] GitError),
}

/// An error of git or of a repository's files.
#[derive(Debug, Error)]
pub enum GitError {
    #[error("`{command}` cannot be run")]
    Start { command: String, source: io::Error },
    /// `said` is the error in what git printed.
    #[error("`{command}`: {said}")]
    Refused { command: String, said: String },
    #[error("`{command}` did not end within {seconds} s")]
    TimedOut { command: String, seconds: u64 },
    /// A nested `.gitignore` or `.gitattributes` that git opens, and that is a pipe or a device.
    #[error("`{command}` did not end within {seconds} s, maybe because {path} is not a regular file", path = path.display())]
    Blocked {
        command: String,
        seconds: u64,
        path: PathBuf,
    },
    #[error("`{command}` printed more than 64 MiB")]
    TooMuch { command: String },
    #[error("`{command}`: unexpected output: {output}")]
    Output { command: String, output: String },
    #[error("{path}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    /// The repository of checkpoints in ralph's state.
    #[error("checkpoints cannot be kept in {path}", path = path.display())]
    Store { path: PathBuf, source: Box<GitError> },
    #[error("{path} is gone", path = path.display())]
    Gone { path: PathBuf },
    #[error("{path} was replaced by another repository", path = path.display())]
    Replaced { path: PathBuf },
    /// A pipe or a device in the place of a file, which a reader would wait for without end.
    #[error("{path} is not a regular file", path = path.display())]
    NotAFile { path: PathBuf },
    #[error("{path} has more than 1 GiB, which git would read", path = path.display())]
    TooLarge { path: PathBuf },
    #[error("there is no checkpoint {moment} iteration {n} of run {run}{}", counted_to(*.last))]
    NoCheckpoint {
        run: RunId,
        n: u32,
        /// `before` or `after`.
        moment: String,
        /// The last iteration with a checkpoint; `None` if the run has none.
        last: Option<u32>,
    },
    #[error("nothing was restored in run {run}, so there is nothing to undo")]
    NothingRestored { run: RunId },
    #[error("iteration {since} is later than iteration {n}")]
    Later { since: u32, n: u32 },
    /// Restoring would overwrite files that no checkpoint holds.
    #[error("{path}{and} would be overwritten and is in no checkpoint", path = path.display(), and = and_more(*more))]
    InTheWay { path: PathBuf, more: usize },
}

fn and_more(more: usize) -> String {
    if more == 0 {
        String::new()
    } else {
        format!(" (and {more} more)")
    }
}

fn counted_to(last: Option<u32>) -> String {
    match last {
        Some(last) => format!(": its last iteration is {last}"),
        None => ": it has none".to_owned(),
    }
}
