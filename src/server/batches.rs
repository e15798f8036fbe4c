//! The boards of batches, read from disk: nothing is asked of the process that carries one out.
//!
//! What was read of a batch stays, so that a page which looks every few seconds has each record read once.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ralph_plan::batch::{BatchId, PlanName};
use ralph_state::store::paths::{ProjectPaths, States};
use serde::Serialize;

use crate::{
    board::Board,
    many::{BatchPaths, Follower, batches_in},
    review::Projects,
};

/// Projects whose last batch is listed.
const LISTED: usize = 20;

/// A batch, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BatchEntry {
    /// The name of the project's directory.
    pub(super) project: String,
    pub(super) board: Board,
}

/// The batches of all projects.
pub(super) struct Batches {
    root: PathBuf,
    projects: Arc<Projects>,
    /// What is followed, by the directory of its batch.
    followed: Mutex<HashMap<PathBuf, Follower>>,
}

impl Batches {
    /// The batches whose projects have their states below `root`.
    pub(super) fn below(root: PathBuf, projects: Arc<Projects>) -> Batches {
        Batches {
            root,
            projects,
            followed: Mutex::default(),
        }
    }

    /// The last batch of each project, those first that are carried out, and the latest first.
    pub(super) fn list(&self) -> Vec<BatchEntry> {
        let mut last: Vec<(BatchId, PathBuf)> = self
            .states()
            .filter_map(|state| Some((batches_in(&state).pop()?, state)))
            .collect();
        // An id begins with the time.
        last.sort_by(|one, other| other.cmp(one));
        last.truncate(LISTED);
        let mut entries: Vec<BatchEntry> = last.iter().filter_map(|(id, state)| self.look(state, id)).collect();
        entries.sort_by_key(|entry| !entry.board.running);
        entries
    }

    /// The batch of this name. A name is looked up and never made a part of a path.
    pub(super) fn find(&self, name: &str) -> Option<BatchEntry> {
        self.states().find_map(|state| {
            let id = batches_in(&state).into_iter().find(|id| id.0 == name)?;
            self.look(&state, &id)
        })
    }

    fn states(&self) -> impl Iterator<Item = PathBuf> {
        States::below(&self.root).list().into_iter()
    }

    fn look(&self, state: &Path, id: &BatchId) -> Option<BatchEntry> {
        let paths = BatchPaths::of_state(&self.root, state, id);
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        // The batch before the last is looked at by nobody any more.
        followed.retain(|directory, _| directory.parent() != paths.dir().parent() || directory == paths.dir());
        let follower = followed.entry(paths.dir().to_owned()).or_insert_with(|| {
            let (projects, of) = (Arc::clone(&self.projects), paths.clone());
            Follower::new(paths.clone(), Box::new(move |plan| state_of(&projects, &of, plan)))
        });
        let board = follower.look()?;
        let name = state.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Behind its name, a state has a hash of the path.
        let project = name
            .rsplit_once('-')
            .map_or(name.clone(), |(project, _)| project.to_owned());
        Some(BatchEntry { project, board })
    }
}

/// Where the runs of a plan have their state: their project lies in the plan's work tree.
fn state_of(projects: &Projects, paths: &BatchPaths, plan: &PlanName) -> Option<ProjectPaths> {
    let tree = paths.tree(plan);
    projects
        .all()
        .into_iter()
        .find(|project| project.project().starts_with(&tree))
}
