//! Checkpoints of the work tree, and what changed between two of them, with the git command line.
//!
//! A checkpoint is a commit object under `refs/ralph/<run>/`, with the user's HEAD as its parent. The user's index,
//! HEAD, branch, reflog and files are only read: everything goes through an index of ralph's own, which starts as the
//! user's and is kept from one checkpoint to the next, so that unchanged files are not read again. It holds the files as they
//! are, byte for byte: no filter runs, no line end is turned, and what the user's index is told to overlook is looked at.
//!
//! All functions block; each git process has a deadline.

mod alone;
mod beside;
mod changes;
mod checkpoint;
mod collection;
mod conflict;
mod counts;
mod differ;
mod discover;
mod entries;
mod error;
mod exclude;
mod file_identity;
mod find;
pub mod fingerprint;
mod head;
mod identity;
mod index;
mod layout;
mod look;
mod loose;
mod overlay;
mod own_references;
mod patch;
mod plain;
mod process;
mod restore;
mod rules;
mod scan;
mod settings;
mod sha1;
mod shared;
mod show;
mod state;
mod status;
mod survey;
mod table;
mod take;
#[cfg(test)]
mod tests;
mod tree;
mod work_trees;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
    time::Duration,
};

use ralph_core::event::{Changes, Checkpoint};
use ralph_state::store::paths::States;
use ralph_system::proc::Supervisor;

use layout::Layout;
use loose::Loose;
use rules::Known;
use state::State;

pub use conflict::marked;
pub use differ::{Differ, DifferError};
pub use discover::{directories, version};
pub use error::{GitError, NoRepository};
pub use identity::{Identity, signs_commits};
pub use overlay::{below_project, below_root, changed_since_fork, overlay};
pub use own_references::OwnReferences;
pub use restore::{Place, Restored, Saved};
pub use shared::{References, changed_keys, config_file, config_text, is_moved_in_root, references};
pub use show::{After, Around, Colour, Commit, Detail, Difference};
pub use work_trees::{Branches, Merge, Move};

/// Untracked files above this size are left out of checkpoints.
pub const UNTRACKED_CAP_BYTES: u64 = 32 << 20;

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
    /// What git is set to, as far as ralph has asked.
    settings: Mutex<Option<Known>>,
    /// What is written without git; none inside where that is nothing. Found out with the first checkpoint.
    loose: OnceLock<Option<Loose>>,
    /// Ignored files that are in checkpoints all the same, as patterns of `.gitignore`.
    include: Vec<String>,
    /// What is in no checkpoint and never restored: ralph's own state.
    spared: Option<States>,
    state: Mutex<State>,
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

    /// git's directories of it: that of this work tree, and the one that all share where that is another.
    pub fn directories(&self) -> Vec<PathBuf> {
        let Layout {
            git_dir, common_dir, ..
        } = &self.layout;
        match git_dir == common_dir {
            true => vec![git_dir.clone()],
            false => vec![git_dir.clone(), common_dir.clone()],
        }
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
