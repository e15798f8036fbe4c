//! The files of a job on its node, below the state directory there.
//!
//! Creating the job's directory claims the job, which succeeds once: either a request to start it does so, or one to
//! withdraw it.

use std::{
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use ralph_core::event::Exit;
use ralph_plan::batch::{BatchId, PlanName};
use ralph_state::store::{
    lock::is_locked,
    paths::{ProjectPaths, create_private_dir, replace_file},
};
use ralph_system::files;
use ralph_text::with_causes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::wire::{JobState, NodeJob, is_name};

/// Most bytes of a file of a job.
const FILE_CAP_BYTES: u64 = 32 << 20;

/// The locations of a job's files.
#[derive(Debug)]
pub(super) struct NodePlace {
    root: PathBuf,
    base: PathBuf,
    job: NodeJob,
}

/// The order for the keeper of a job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeeperOrder {
    pub(super) id: String,
    pub(super) cwd: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

/// The end of a job, as its keeper has recorded it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedEnd {
    pub(super) exit: Option<Exit>,
    pub(super) tail: String,
}

impl NodePlace {
    /// Returns the place of a job below the state directory `root`.
    ///
    /// # Errors
    /// The reason in words: the request has an invalid name, or the directory cannot be made.
    pub(super) fn new(root: &Path, job: NodeJob) -> Result<NodePlace, String> {
        let NodeJob {
            project,
            batch,
            plan,
            name,
            prefix,
        } = &job;
        if let Some(odd) = [project, batch, plan, name].into_iter().find(|name| !is_name(name)) {
            return Err(format!("{odd:?} is no name of a job"));
        }
        if !is_below(prefix) {
            return Err(format!("{} is no path within a repository", prefix.display()));
        }
        let base = root.join("nodes").join(project);
        create_private_dir(&base).map_err(|error| with_causes(&error))?;
        // The run derives its state from the path without symbolic links.
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(NodePlace {
            root: real(root)?,
            base: real(&base)?,
            job,
        })
    }

    pub(super) fn job(&self) -> &NodeJob {
        &self.job
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn branch(&self) -> String {
        BatchId(self.job.batch.clone()).branch(&PlanName(self.job.plan.clone()))
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.base.join("repository")
    }

    /// Returns the file for a bundle on its way.
    pub(super) fn bundle(&self) -> PathBuf {
        self.base.join(format!("{}.bundle", self.job.name))
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.base.join("trees").join(&self.job.batch).join(&self.job.plan)
    }

    /// Returns the project in the work tree.
    pub(super) fn project(&self) -> PathBuf {
        match self.job.prefix.as_os_str().is_empty() {
            true => self.tree(),
            false => self.tree().join(&self.job.prefix),
        }
    }

    /// Returns the state directory of the plan's runs.
    pub(super) fn state(&self) -> Result<ProjectPaths, String> {
        ProjectPaths::new(&self.project(), Some(&self.root)).map_err(|error| with_causes(&error))
    }

    /// Returns the directory of the job, whose creation claims it.
    pub(super) fn directory(&self) -> Result<PathBuf, String> {
        Ok(self.state()?.state().join("node-jobs").join(&self.job.name))
    }

    /// Takes the lock of the repository and of all work trees of the project, until the file is closed.
    pub(super) fn lock(&self) -> Result<File, String> {
        let path = self.base.join("lock");
        let locked = files::append_private(&path).and_then(|(file, _)| file.lock().map(|()| file));
        locked.map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn job_state(&self) -> Result<JobState, String> {
        let files = JobDirectory::new(self.directory()?);
        Ok(files.state())
    }
}

/// Whether a path stays below the directory that it is joined to.
pub(super) fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// The files of one job.
#[derive(Debug, Clone)]
pub(super) struct JobDirectory(PathBuf);

impl JobDirectory {
    pub(super) fn new(directory: PathBuf) -> JobDirectory {
        JobDirectory(directory)
    }

    /// Claims the job; false if it was claimed before.
    pub(super) fn claim(&self) -> Result<bool, String> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let above = self.0.parent().unwrap_or(&self.0);
        create_private_dir(above).map_err(|error| with_causes(&error))?;
        match fs::create_dir(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(&self.0, &error)),
        }
    }

    fn withdrawn(&self) -> PathBuf {
        self.0.join("withdrawn")
    }

    /// Marks a job that was claimed as one that is never started.
    pub(super) fn withdraw(&self) -> io::Result<()> {
        fs::write(self.withdrawn(), b"")
    }

    /// Returns the lock file that the keeper holds.
    pub(super) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Returns the file for errors of the keeper itself.
    pub(super) fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    pub(super) fn write_order(&self, order: &KeeperOrder) -> io::Result<()> {
        replace_file(&self.0.join("job.json"), &serde_json::to_vec(order)?)
    }

    pub(super) fn order(&self) -> Result<KeeperOrder, String> {
        read_json(&self.0.join("job.json"))
    }

    pub(super) fn write_pid(&self) -> io::Result<()> {
        replace_file(&self.0.join("pid"), std::process::id().to_string().as_bytes())
    }

    /// Returns the process of the keeper, if it runs.
    pub(super) fn keeper(&self) -> Option<u32> {
        let pid = files::read_text(&self.0.join("pid"), FILE_CAP_BYTES).ok()?;
        pid.trim().parse().ok().filter(|_| self.is_kept())
    }

    pub(super) fn write_end(&self, end: &RecordedEnd) -> io::Result<()> {
        replace_file(&self.0.join("end.json"), &serde_json::to_vec(end)?)
    }

    /// Whether the keeper of the job lives.
    pub(super) fn is_kept(&self) -> bool {
        is_locked(&self.lock())
    }

    pub(super) fn state(&self) -> JobState {
        // The lock first: its holder records the end before it lets go.
        let is_kept = self.is_kept();
        if let Ok(RecordedEnd { exit, tail }) = read_json(&self.0.join("end.json")) {
            return JobState::Ended { exit, tail };
        }
        match (is_kept, self.0.is_dir(), self.withdrawn().exists()) {
            (true, _, _) => JobState::Running,
            (false, false, _) => JobState::Absent,
            (false, true, true) => JobState::Withdrawn,
            (false, true, false) => JobState::Gone,
        }
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = files::read_bytes(path, FILE_CAP_BYTES).map_err(|error| with_causes(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(project: &str, prefix: &str) -> NodeJob {
        NodeJob {
            project: project.to_owned(),
            batch: "20261127-030000".to_owned(),
            plan: "api".to_owned(),
            name: "api-1".to_owned(),
            prefix: prefix.into(),
        }
    }

    #[test]
    fn a_request_with_a_path_in_place_of_a_name_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for (project, prefix) in [("../x", ""), ("x", "../y"), ("x", "/etc")] {
            let refused = NodePlace::new(root.path(), job(project, prefix)).unwrap_err();
            assert!(refused.contains(" is no "), "{refused}");
        }
        assert!(!root.path().join("nodes").exists());
        let place = NodePlace::new(root.path(), job("app-1", "web")).unwrap();
        assert!(place.project().ends_with("nodes/app-1/trees/20261127-030000/api/web"));
    }

    #[test]
    fn a_job_is_claimed_once_and_its_state_follows_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let files = JobDirectory::new(root.path().join("jobs/api-1"));
        assert_eq!(files.state(), JobState::Absent);
        assert_eq!((files.claim(), files.claim()), (Ok(true), Ok(false)));
        assert_eq!(files.state(), JobState::Gone, "nobody works on it");
        let (lock, _) = files::append_private(&files.lock()).unwrap();
        lock.lock().unwrap();
        assert_eq!(files.state(), JobState::Running);
        let (exit, tail) = (Some(Exit::Code { code: 0 }), "done".to_owned());
        files
            .write_end(&RecordedEnd {
                exit,
                tail: tail.clone(),
            })
            .unwrap();
        assert_eq!(files.state(), JobState::Ended { exit, tail });
        let withdrawn = JobDirectory::new(root.path().join("jobs/api-2"));
        withdrawn.claim().unwrap();
        withdrawn.withdraw().unwrap();
        assert_eq!(withdrawn.state(), JobState::Withdrawn);
    }
}
