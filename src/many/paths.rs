//! Where batches are: their records with the project's state, their work trees beside the states of all projects.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_plan::batch::{BatchId, PlanName};
use ralph_state::store::{
    lock,
    paths::{PathsError, ProjectPaths, create_private_dir},
};
use ralph_system::{
    files::{append_private, lock_within},
    proc::{Hold, Supervisor},
};

use super::journal::has_begun;

/// The scratch work tree of the merge queue. No plan has a name with this sign.
const SCRATCH_TREE: &str = "_merge";

const JOURNAL: &str = "events.jsonl";

/// How long to try before another batch is said to work: whoever looks whether one does has the lock for a moment.
const PATIENCE: Duration = Duration::from_millis(300);

/// The files of one batch.
#[derive(Debug, Clone)]
pub(crate) struct BatchPaths {
    dir: PathBuf,
    trees: PathBuf,
}

impl BatchPaths {
    pub(crate) fn new(project: &ProjectPaths, batch: &BatchId) -> BatchPaths {
        BatchPaths::of_state(project.states().root(), project.state(), batch)
    }

    /// The same for a project of which only the `state` is known, which is one of those below `root`.
    pub(crate) fn of_state(root: &Path, state: &Path, batch: &BatchId) -> BatchPaths {
        let name = state.file_name().unwrap_or_default();
        // Not within a state: what lies there is nobody's work, and hidden from agents.
        let trees = root.join("worktrees").join(name);
        BatchPaths {
            dir: all(state).join(&batch.0),
            trees: trees.join(&batch.0),
        }
    }

    /// Whether a batch works in the project.
    pub(crate) fn is_at_work(&self) -> bool {
        let batches = self.dir.parent();
        batches.is_some_and(|batches| lock::is_locked(&batches.join("lock")))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the work trees of all batches of the project are.
    pub(crate) fn trees_of_project(&self) -> &Path {
        self.trees.parent().unwrap_or(&self.trees)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.dir.join(JOURNAL)
    }

    /// What the run of a plan printed, and what git and the goals said of its merges.
    pub(crate) fn log(&self, plan: &PlanName) -> PathBuf {
        self.dir.join(format!("{plan}.log"))
    }

    /// What the process of the batch printed where it had no terminal.
    pub(crate) fn output(&self) -> PathBuf {
        self.dir.join("output")
    }

    /// Requests of other processes, a file each.
    pub(super) fn requests(&self) -> PathBuf {
        self.dir.join("requests")
    }

    /// The tests that merged trees are judged by, and the results.
    pub(super) fn judging(&self) -> PathBuf {
        self.dir.join("judging")
    }

    /// Short-lived files of children.
    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.join("scratch")
    }

    /// The files of jobs that an engine runs.
    pub(super) fn jobs(&self) -> PathBuf {
        self.dir.join("jobs")
    }

    /// The directory of all work trees of the batch.
    pub(super) fn trees(&self) -> &Path {
        &self.trees
    }

    pub(crate) fn tree(&self, plan: &PlanName) -> PathBuf {
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

/// The batches of the project with this state, oldest first: their ids begin with the time they started.
pub(crate) fn batches_in(state: &Path) -> Vec<BatchId> {
    let Ok(entries) = fs::read_dir(all(state)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<BatchId> = names.map(BatchId).collect();
    ids.retain(|id| all(state).join(&id.0).join(JOURNAL).is_file());
    ids.sort();
    ids
}

/// The batch that began last. One that was killed before it had recorded its plans never began.
pub(crate) fn latest(project: &ProjectPaths) -> Option<BatchId> {
    let all = batches_in(project.state());
    let began = |id: &&BatchId| has_begun(&BatchPaths::new(project, id).journal());
    all.iter().rev().find(began).cloned()
}

/// One batch at a time works in a project: a lock of the operating system, which no crash leaves behind.
#[derive(Debug)]
pub(crate) struct BatchLock {
    _helpers: Hold,
    _file: File,
}

impl BatchLock {
    /// None if another batch works in the project. Waits for the helpers of one that was killed.
    ///
    /// # Errors
    /// Whatever the system says; [`io::ErrorKind::TimedOut`] if those helpers do not end.
    pub(crate) fn take(project: &ProjectPaths, supervisor: &Supervisor) -> io::Result<Option<BatchLock>> {
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

    /// Whether a batch works in the project.
    pub(crate) fn is_held(project: &ProjectPaths) -> bool {
        lock::is_locked(&all(project.state()).join("lock"))
    }
}
