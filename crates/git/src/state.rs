//! What is kept in memory of a repository from one checkpoint to the next.

use std::{collections::HashSet, path::PathBuf, thread::JoinHandle};

use ralph_core::event::Checkpoint;

use super::{GitError, counts::Counts, file_identity::Identity, layout::Mark, table::Table};

/// What is known from the checkpoint before.
#[derive(Debug)]
pub(super) struct State {
    /// The repository's directories.
    pub(super) marks: [Mark; 2],
    /// The latest reference that was set, and its commit: what tells this repository from all others.
    pub(super) kept: Option<(String, String)>,
    /// The user's index that ralph's was brought up to; none while ralph's holds nothing.
    pub(super) origin: Option<Identity>,
    /// Tracked files that are not to be in the work tree, and are not.
    pub(super) absent: Vec<PathBuf>,
    pub(super) counts: Counts,
    /// What ralph's index holds, as far as ralph can go on from there without git.
    pub(super) table: Option<Table>,
    /// The checkpoint that ralph's index holds; none when that is not known.
    pub(super) last: Option<Checkpoint>,
    /// A repeated checkpoint that gets its second name.
    pub(super) naming: Option<JoinHandle<Result<(), GitError>>>,
    /// What the user has to be told with the next checkpoint.
    pub(super) untold: Vec<String>,
    /// What the user was told, once each.
    pub(super) told: HashSet<String>,
}

impl State {
    pub(super) fn of(marks: [Mark; 2]) -> State {
        State {
            marks,
            kept: None,
            origin: None,
            absent: Vec::new(),
            counts: Counts::default(),
            table: None,
            last: None,
            naming: None,
            untold: Vec::new(),
            told: HashSet::new(),
        }
    }

    /// Forgets what ralph's index holds.
    pub(super) fn forget(&mut self) {
        self.table = None;
        self.last = None;
    }

    /// Keeps a sentence for the user until the next checkpoint.
    pub(super) fn tell(&mut self, notice: String) {
        self.untold.push(notice);
    }

    /// Waits until a repeated checkpoint has its second name.
    pub(super) fn finish_naming(&mut self) {
        let Some(naming) = self.naming.take() else { return };
        if let Err(error) = naming.join().expect("naming does not panic") {
            self.untold.push(format!(
                "A checkpoint is kept under one of its two names only: {error}."
            ));
        }
    }
}
