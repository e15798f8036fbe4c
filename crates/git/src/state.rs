//! The state of a repository that is kept in memory between checkpoints.

use std::{collections::HashSet, path::PathBuf, thread::JoinHandle};

use ralph_core::event::Checkpoint;

use super::{GitError, layout::DirectoryIdentity, nested::NestedRepositories, user_index::UserIndex};

/// The state after the latest checkpoint.
#[derive(Debug)]
pub(super) struct RepositoryState {
    /// The identities of the repository's directories.
    pub(super) directory_identities: [DirectoryIdentity; 2],
    /// The configuration and the commit of HEAD of the latest checkpoint, which identify the repository.
    pub(super) configuration: Option<Vec<u8>>,
    pub(super) latest_head: Option<String>,
    /// The reference in the store to the history from before the run.
    pub(super) history: Option<String>,
    /// The user's index that ralph's was updated from; `None` while ralph's is empty.
    pub(super) origin: Option<UserIndex>,
    /// Tracked files that should not be in the work tree, and are not.
    pub(super) absent: Vec<Vec<u8>>,
    /// The checkpoint whose tree ralph's index holds; `None` if unknown.
    pub(super) last: Option<Checkpoint>,
    /// The repositories inside the work tree.
    pub(super) nested: NestedRepositories,
    /// A nested file that git waited for.
    pub(super) blocking_file: Option<PathBuf>,
    /// The thread that gives a repeated checkpoint its second name.
    pub(super) naming: Option<JoinHandle<Result<(), GitError>>>,
    /// Notices for the user, to be delivered with the next checkpoint.
    pub(super) pending_notices: Vec<String>,
    /// Notices that the user has received, so that each is sent once.
    pub(super) announced: HashSet<String>,
}

impl RepositoryState {
    pub(super) fn new(identities: [DirectoryIdentity; 2]) -> RepositoryState {
        RepositoryState {
            directory_identities: identities,
            configuration: None,
            latest_head: None,
            history: None,
            origin: None,
            absent: Vec::new(),
            last: None,
            nested: NestedRepositories::default(),
            blocking_file: None,
            naming: None,
            pending_notices: Vec::new(),
            announced: HashSet::new(),
        }
    }

    /// Keeps a notice for the user until the next checkpoint.
    pub(super) fn add_notice(&mut self, notice: String) {
        self.pending_notices.push(notice);
    }

    /// Waits until a repeated checkpoint has its second name.
    pub(super) fn finish_naming(&mut self) {
        let Some(naming) = self.naming.take() else { return };
        if let Err(error) = naming.join().expect("naming does not panic") {
            self.pending_notices
                .push(format!("A repeated checkpoint could not get its second name: {error}."));
        }
    }
}
