//! Locations of batches: their records in the project's state, their work trees beside the states of all
//! projects.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_plan::batch::{BatchId, PlanName};
use ralph_state::store::lock;
use ralph_system::{
    files::{append_private, lock_within},
    paths::{PathsError, ProjectPaths, create_private_dir, work_trees_of},
    proc::{LockedFile, Supervisor},
};

use super::journal::has_begun;

/// The scratch work tree of the merge queue. Names of plans have no underscores.
const SCRATCH_TREE: &str = "_merge";

const JOURNAL: &str = "events.jsonl";

/// How long to try before the lock counts as held: a process that checks it holds it for a moment.
const PATIENCE: Duration = Duration::from_millis(300);

/// The files of one batch.
#[derive(Debug, Clone)]
pub struct BatchPaths {
    dir: PathBuf,
    trees: PathBuf,
}

impl BatchPaths {
    pub fn new(project: &ProjectPaths, batch: &BatchId) -> BatchPaths {
        BatchPaths::for_state(project.states().root(), project.state(), batch)
    }

    /// Returns the paths for a project of which only the `state` is known, a directory below `root`.
    pub fn for_state(root: &Path, state: &Path, batch: &BatchId) -> BatchPaths {
        BatchPaths {
            dir: all(state).join(&batch.0),
            trees: work_trees_of(root, state).join(&batch.0),
        }
    }

    /// Whether a batch is running in the project.
    pub fn is_at_work(&self) -> bool {
        let batches = self.dir.parent();
        batches.is_some_and(|batches| lock::is_locked(&batches.join("lock")))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the directory of the work trees of all batches of the project.
    pub fn trees_of_project(&self) -> &Path {
        self.trees.parent().unwrap_or(&self.trees)
    }

    pub fn journal(&self) -> PathBuf {
        self.dir.join(JOURNAL)
    }

    /// Returns the log of a plan: the output of its run, and of the goals on its merges.
    pub fn log(&self, plan: &PlanName) -> PathBuf {
        self.dir.join(format!("{plan}.log"))
    }

    /// Returns the file for the output of a batch's process that has no terminal.
    pub fn output(&self) -> PathBuf {
        self.dir.join("output")
    }

    /// Returns the directory of requests from other processes, one file each.
    pub(super) fn requests(&self) -> PathBuf {
        self.dir.join("requests")
    }

    /// Returns the directory of files of a plan's work tree that outlive it.
    pub(super) fn kept_files(&self, plan: &PlanName) -> PathBuf {
        self.all_kept_files().join(&plan.0)
    }

    /// Returns the directory of the files that outlive the work trees of all plans.
    pub(super) fn all_kept_files(&self) -> PathBuf {
        self.dir.join("kept")
    }

    /// Returns the directory of the tests that judge merged trees, and of the results.
    pub(super) fn judging(&self) -> PathBuf {
        self.dir.join("judging")
    }

    /// Returns the directory for short-lived files of children.
    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.join("scratch")
    }

    /// Returns the directory of files of an engine's jobs.
    pub(super) fn jobs(&self) -> PathBuf {
        self.dir.join("jobs")
    }

    /// Returns the directory of all work trees of the batch.
    pub(super) fn trees(&self) -> &Path {
        &self.trees
    }

    pub fn tree(&self, plan: &PlanName) -> PathBuf {
        self.trees.join(&plan.0)
    }

    pub(super) fn scratch_tree(&self) -> PathBuf {
        self.trees.join(SCRATCH_TREE)
    }

    pub(super) fn create(&self) -> Result<(), PathsError> {
        for dir in [self.dir.clone(), self.requests(), self.scratch(), self.trees.clone()] {
            create_private_dir(&dir)?;
        }
        Ok(())
    }
}

fn all(state: &Path) -> PathBuf {
    state.join("batches")
}

/// Lists the batches of the project with this state, oldest first: their ids begin with the start time.
pub fn batches_in(state: &Path) -> Vec<BatchId> {
    let Ok(entries) = fs::read_dir(all(state)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<BatchId> = names.map(BatchId).collect();
    ids.retain(|id| all(state).join(&id.0).join(JOURNAL).is_file());
    ids.sort();
    ids
}

/// Returns the batch that began last. A batch that was killed before it recorded its plans does not count.
pub fn latest(project: &ProjectPaths) -> Option<BatchId> {
    let all = batches_in(project.state());
    let began = |id: &&BatchId| has_begun(&BatchPaths::new(project, id).journal());
    all.iter().rev().find(began).cloned()
}

/// The lock that allows one batch at a time in a project. It is a lock of the operating system, which a crash
/// releases.
#[derive(Debug)]
pub struct BatchLock {
    _helpers: LockedFile,
    _file: File,
}

impl BatchLock {
    /// Takes the lock; `None` if another batch is running in the project. Waits for the helpers of a killed
    /// batch.
    ///
    /// # Errors
    /// The error of the operating system; [`io::ErrorKind::TimedOut`] if those helpers do not end.
    pub fn take(project: &ProjectPaths, supervisor: &Supervisor) -> io::Result<Option<BatchLock>> {
        let dir = all(project.state());
        create_private_dir(&dir).map_err(io::Error::other)?;
        let (file, _) = append_private(&dir.join("lock"))?;
        if !lock_within(&file, PATIENCE)? {
            return Ok(None);
        }
        Ok(Some(BatchLock {
            _helpers: supervisor.hold(&dir.join("helpers.lock"))?,
            _file: file,
        }))
    }

    /// Whether a batch is running in the project.
    pub fn is_held(project: &ProjectPaths) -> bool {
        lock::is_locked(&all(project.state()).join("lock"))
    }
}
