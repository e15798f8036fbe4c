//! The boards of batches, read from disk without asking the process of the batch.
//!
//! Followers are kept between requests, so that a page that polls every few seconds causes each record to be read once.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use ralph_many::{BatchFollower, BatchPaths, batches_in};
use ralph_plan::batch::{BatchId, PlanName};
use ralph_review::Projects;
use ralph_system::paths::{ProjectPaths, States};
use ralph_ui::board::Board;
use serde::Serialize;

/// Maximum number of projects whose last batch is listed.
const LISTED: usize = 20;

/// A batch and its project.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BatchEntry {
    /// The name of the project's directory.
    pub(super) project: String,
    pub(super) board: Board,
}

/// The batches of all projects.
pub(super) struct Batches {
    root: PathBuf,
    projects: Arc<Projects>,
    /// Followers by the directory of their batch.
    followed: Mutex<HashMap<PathBuf, BatchFollower>>,
}

impl Batches {
    /// Reads the batches of the projects whose states are below `root`.
    pub(super) fn below(root: PathBuf, projects: Arc<Projects>) -> Batches {
        Batches {
            root,
            projects,
            followed: Mutex::default(),
        }
    }

    /// The last batch of each project: running ones first, then the latest first.
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

    /// Returns the batch of this name. The name is compared and never becomes part of a path.
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
        let paths = BatchPaths::for_state(&self.root, state, id);
        let mut followed = self.followed.lock();
        // Earlier batches of the project are no longer shown.
        followed.retain(|directory, _| directory.parent() != paths.dir().parent() || directory == paths.dir());
        let follower = followed.entry(paths.dir().to_owned()).or_insert_with(|| {
            let (projects, of) = (Arc::clone(&self.projects), paths.clone());
            BatchFollower::new(paths.clone(), Box::new(move |plan| state_of(&projects, &of, plan)))
        });
        let board = follower.look()?;
        let name = state.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The name of a state directory is that of the project and a hash of its path.
        let project = name
            .rsplit_once('-')
            .map_or(name.clone(), |(project, _)| project.to_owned());
        Some(BatchEntry { project, board })
    }
}

/// Finds the state of a plan's runs: their project is in the plan's work tree.
fn state_of(projects: &Projects, paths: &BatchPaths, plan: &PlanName) -> Option<ProjectPaths> {
    let tree = paths.tree(plan);
    projects
        .all()
        .into_iter()
        .find(|project| project.project().starts_with(&tree))
}
