//! Checkpoints of the work tree, and the changes between them, with the git command line.
//!
//! A checkpoint is a commit under `refs/ralph/<run>/` in the store, a repository of ralph's own, and names the
//! user's HEAD. The user's index, HEAD, branch, reflog, objects and files are only read: git works on an index of ralph's own, which begins with the names in the
//! user's and is kept between checkpoints, so that unchanged files are not read again. It holds the files byte for
//! byte: no filter runs, no line end is converted, and files that the user's index marks as `skip-worktree` or
//! `assume-unchanged` are looked at.
//!
//! All functions block; each git process has a deadline.

#![deny(unreachable_pub)]

pub mod anchor;
mod attribute_free;
mod blocking_file;
mod changes;
mod checkout;
mod checkpoint;
mod commit_counts;
mod committer_identity;
mod conflict;
mod delivered;
mod differ;
mod discover;
mod earlier;
mod error;
mod exclude;
mod fast_forward;
pub mod fingerprint;
#[cfg(fuzzing)]
mod fuzzing;
mod head;
mod ignored;
mod index;
mod iteration_commit;
mod layout;
mod left_locks;
mod lock_files;
mod lost;
mod merge_commit;
mod nested;
mod nested_patch;
mod nested_restore;
mod nested_search;
mod origin;
mod overlay;
mod own_references;
mod patch;
mod process;
mod remote;
mod renames;
mod restore;
mod scan;
mod scoped_task;
mod settings;
mod shared;
mod show;
mod stashes;
mod state;
mod status;
mod store;
mod survey;
mod take;
#[cfg(test)]
mod tests;
mod unseen;
mod user_index;
mod work_trees;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use ralph_core::event::{Changes, Checkpoint, RepositoryChange};
use ralph_system::paths::States;
use ralph_system::proc::{Confinement, Supervisor};

use commit_counts::CommitCounts;
use layout::RepositoryLayout;
use origin::Origin;
use state::RepositoryState;

pub use checkout::CheckedOut;
pub use committer_identity::{CommitterIdentity, SigningFormat, commit_signing};
pub use conflict::marked;
pub use delivered::Undelivered;
pub use differ::{Differ, DifferError};
pub use discover::{directories, version};
pub use earlier::EarlierContent;
pub use error::{GitError, NoRepository};
pub use exclude::exclude;
pub use fast_forward::{MoveResult, fast_forward, unmovable};
#[cfg(fuzzing)]
pub use fuzzing::read_any_output;
pub use head::LooseCommits;
pub use ignored::{ignored_matching, is_ignored};
pub use iteration_commit::{CommitHindrance, CommitResult};
pub use left_locks::{FoundLock, LockRemoval};
pub use lost::GitWorks;
pub use merge_commit::{CommitSigning, merge_commit};
pub use nested_restore::NestedRestore;
pub use overlay::{below_project, below_root, changed_since_fork, overlay};
pub use own_references::OwnReferences;
pub use remote::{RemoteError, RemoteRepository, remote_address};
pub use restore::{CheckpointPosition, RestoreResult, SavedCheckpoint};
pub use settings::settings_of;
pub use shared::{REPLACEMENTS, References, changed_keys, config_file, config_text, is_moved_in_root, references};
pub use show::{AfterCheckpoint, Commit, DiffColour, DiffDetail, IterationCheckpoints, RenderedDiff};
pub use stashes::{Stash, StashLog};
pub use unseen::unseen;
pub use work_trees::{Branches, MergeResult};

/// Untracked files above this size are left out of checkpoints.
pub const UNTRACKED_CAP_BYTES: u64 = 32 << 20;

/// A repository, and its work tree, which is checkpointed as a whole.
#[derive(Debug)]
pub struct Repository {
    layout: RepositoryLayout,
    /// Bytes of an object's name: 20, or 32 with SHA-256.
    id_bytes: usize,
    /// The file of ralph's own index.
    index: PathBuf,
    /// The repository that holds the checkpoints; `None` if this one does, as repositories inside a work tree do.
    store: Option<PathBuf>,
    /// ralph's own common directory, which overrules all attributes.
    attribute_free_dir: PathBuf,
    deadline: Duration,
    supervisor: Supervisor,
    /// Patterns, as in `.gitignore`, of ignored files that checkpoints include.
    include: Vec<String>,
    /// ralph's own state, which is in no checkpoint and is never restored.
    excluded_state: Option<States>,
    commit_counts: CommitCounts,
    origin: Origin,
    /// How many repositories it lies in that are recorded with it.
    depth: u32,
    /// The rights of git where it runs programs that an agent may have named; `None` for all rights of the user.
    agents_rights: Option<Arc<Confinement>>,
    state: Mutex<RepositoryState>,
}

impl Repository {
    /// Includes ignored files that match a pattern, as in `.gitignore`, in checkpoints.
    #[must_use]
    pub fn including(mut self, patterns: Vec<String>) -> Repository {
        self.include = patterns;
        self
    }

    /// Excludes ralph's own state, wherever it lies: its changes are no work, and restoring it would falsify it.
    #[must_use]
    pub fn excluding_state(mut self, states: States) -> Repository {
        self.excluded_state = Some(states);
        self
    }

    /// Confines commits, and all programs that the repository's settings name for them.
    #[must_use]
    pub fn committing_in(mut self, confinement: Option<Arc<Confinement>>) -> Repository {
        self.agents_rights = confinement;
        self
    }

    /// Whether a file, relative to the root, is part of ralph's state.
    fn excludes(&self, path: &Path) -> bool {
        let spared = self.excluded_state.as_ref();
        spared.is_some_and(|states| states.contains(&self.layout.root.join(path)))
    }

    /// Returns git's directory of this work tree, and the common one if that is another.
    pub fn directories(&self) -> Vec<PathBuf> {
        let RepositoryLayout {
            git_dir, common_dir, ..
        } = &self.layout;
        match git_dir == common_dir {
            true => vec![git_dir.clone()],
            false => vec![git_dir.clone(), common_dir.clone()],
        }
    }

    /// Returns the work tree's root, absolute; the project may be a directory below it.
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    /// Returns git's directory of the repository, which all work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.layout.common_dir
    }
}

/// The side of an iteration that a checkpoint is on.
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

/// A newly made checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub checkpoint: Checkpoint,
    /// The branch that is checked out; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Sentences about files that it leaves out; each is returned once.
    pub notices: Vec<String>,
}

/// The changes since a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountedChanges {
    /// Those of repositories inside the work tree included.
    pub changes: Changes,
    /// The repositories inside the work tree that changed, by their paths from the root.
    pub nested: Vec<NestedChanges>,
}

/// The change of a repository inside the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedChanges {
    pub path: PathBuf,
    pub change: RepositoryChange,
}
