//! Checkpoints of the work tree, and what changed between two of them, with the git command line.
//!
//! A checkpoint is a commit object under `refs/ralph/<run>/`, with the user's HEAD as its parent. The user's index,
//! HEAD, branch, reflog and files are only read: everything goes through an index of ralph's own, which starts as the
//! user's and is kept from one checkpoint to the next, so that unchanged files are not read again. It holds the files as they
//! are, byte for byte: no filter runs, no line end is turned, and what the user's index is told to overlook is looked at.
//!
//! All functions block; each git process has a deadline.

mod changes;
mod checkpoint;
mod differ;
mod discover;
mod entries;
mod file_identity;
mod find;
pub(crate) mod fingerprint;
mod head;
mod identity;
mod index;
mod layout;
mod loose;
mod patch;
mod plain;
mod process;
mod restore;
mod rules;
mod scan;
mod sha1;
mod show;
mod status;
mod survey;
mod table;
mod take;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
    time::Duration,
};

use thiserror::Error;

use crate::{
    event::{Changes, Checkpoint},
    proc::Supervisor,
    store::paths::States,
};
use layout::Layout;
use loose::Loose;

pub use differ::{Differ, DifferError};
pub use discover::version;
pub use identity::Identity;
pub use restore::{Place, Restored, Saved};
pub use show::{Colour, Commit, Detail, Difference};

/// Untracked files above this size are left out of checkpoints.
pub const UNTRACKED_CAP_BYTES: u64 = 32 << 20;

/// How long one git process may take. Long, because the first checkpoint of a large tree reads all of it.
const DEADLINE: Duration = Duration::from_secs(120);

/// The same for finding a repository, when nobody sees anything yet: it reads a few small files.
const DISCOVERY_DEADLINE: Duration = Duration::from_secs(10);

/// A repository with a work tree, the whole of which is checkpointed.
#[derive(Debug)]
pub struct Repository {
    layout: Layout,
    /// How long the names of objects are: 20 bytes, or 32.
    id_bytes: usize,
    /// ralph's own index.
    index: PathBuf,
    /// ralph's own shared directory, in which no attribute is set.
    plain: PathBuf,
    deadline: Duration,
    supervisor: Supervisor,
    /// What is written without git; none inside where that is nothing. Found out with the first checkpoint.
    loose: OnceLock<Option<Loose>>,
    /// Ignored files that are in checkpoints all the same, as patterns of `.gitignore`.
    include: Vec<String>,
    /// What is in no checkpoint and never restored: ralph's own state.
    spared: Option<States>,
    state: Mutex<checkpoint::State>,
}

impl Repository {
    /// Has checkpoints hold ignored files, too, which match a pattern of `.gitignore`.
    #[must_use]
    pub fn including(mut self, patterns: Vec<String>) -> Repository {
        self.include = patterns;
        self
    }

    /// Leaves ralph's state alone, wherever it lies: a journal that grows is no work, and none that was restored is true.
    #[must_use]
    pub fn sparing(mut self, states: States) -> Repository {
        self.spared = Some(states);
        self
    }

    /// Whether a file, relative to the root, is a part of ralph's state.
    fn spares(&self, path: &Path) -> bool {
        let spared = self.spared.as_ref();
        spared.is_some_and(|states| states.hold(&self.layout.root.join(path)))
    }

    /// The work tree's root, absolute; the project may be a directory below it.
    pub fn root(&self) -> &Path {
        &self.layout.root
    }
}

/// Which side of an iteration a checkpoint is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    Before,
    After,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Moment::Before => "before",
            Moment::After => "after",
        })
    }
}

/// A checkpoint that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub checkpoint: Checkpoint,
    /// What is not in it, a sentence each; said once per file and repository.
    pub notices: Vec<String>,
}

/// The changes since each of some checkpoints, in their order.
pub type Counted = Result<Vec<Changes>, GitError>;

/// Why there can be no checkpoints here.
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
    /// The repository says that its files are somewhere else.
    #[error("`core.worktree` of {git_dir} leads away from the project, to {to}",
        git_dir = git_dir.display(), to = to.display())]
    WorkTreeElsewhere { git_dir: PathBuf, to: PathBuf },
    /// The same of its references.
    #[error("{git_dir}/commondir leads to another repository, {to}", git_dir = git_dir.display(), to = to.display())]
    ReferencesElsewhere { git_dir: PathBuf, to: PathBuf },
    #[error("the repository cannot be read")]
    Unreadable(#[source] GitError),
}

/// What went wrong with git.
#[derive(Debug, Error)]
pub enum GitError {
    #[error("`{command}` cannot be run")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// `said` is the first line of what git printed as the error.
    #[error("`{command}`: {said}")]
    Refused { command: String, said: String },
    #[error("`{command}` did not end within {seconds} s")]
    TimedOut { command: String, seconds: u64 },
    #[error("`{command}` printed more than 64 MiB")]
    TooMuch { command: String },
    #[error("`{command}`: unexpected output: {output}")]
    Output { command: String, output: String },
    #[error("{path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is gone", path = path.display())]
    Gone { path: PathBuf },
    #[error("{path} is another repository than at first", path = path.display())]
    Replaced { path: PathBuf },
    /// Whoever reads it waits for ever.
    #[error("{path} is not a regular file", path = path.display())]
    NotAFile { path: PathBuf },
    #[error("no checkpoint {reference}")]
    NoCheckpoint { reference: String },
    /// Restoring would overwrite what no checkpoint holds.
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
