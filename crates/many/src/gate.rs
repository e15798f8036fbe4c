//! The rules that judge merged trees, and the files of one judgement.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::{GoalResult, Proof, Trial};
use ralph_gate::guard::FileGuard;
use ralph_plan::batch::FailedTests;
use ralph_system::files;
use ralph_text::with_causes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Most bytes of a file of a judgement.
const LOOK_CAP_BYTES: u64 = 16 << 20;

/// The rules that judge the tests of merged trees.
#[derive(Debug, Clone, Default)]
pub struct MergeGate {
    /// The guard; `None` if no files are guarded.
    pub guard: Option<FileGuard>,
    /// The weakest proof with which a merge is accepted.
    pub require: Proof,
}

/// The results of the goals on a merged tree.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeCheck {
    pub results: Vec<GoalResult>,
    /// The results with the tests of the target in place, if these differ from the merged tree's.
    pub with_target: Option<Trial>,
    /// The results with the tests of each merged plan in place, if these differ.
    pub with_plans: Vec<Option<Trial>>,
}

/// The files of one judgement.
#[derive(Debug, Clone)]
pub struct JudgingFiles {
    directory: PathBuf,
}

impl JudgingFiles {
    pub fn new(directory: PathBuf) -> JudgingFiles {
        JudgingFiles { directory }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the directory with the tests of the target.
    pub fn target_store(&self) -> PathBuf {
        self.directory.join("target")
    }

    /// Returns the directory with the tests of a merged plan; plans are numbered from 0.
    pub(super) fn plan_store(&self, number: usize) -> PathBuf {
        self.directory.join(format!("plan-{number}"))
    }

    /// Returns the directories with the tests of all merged plans.
    pub fn plan_stores(&self) -> Vec<PathBuf> {
        (0..)
            .map(|number| self.plan_store(number))
            .take_while(|store| store.is_dir())
            .collect()
    }

    /// Returns the record that is written before a trial.
    pub fn record(&self) -> PathBuf {
        self.directory.join("trial")
    }

    /// Returns the file of the tests that may fail.
    fn known_failures_path(&self) -> PathBuf {
        self.directory.join("known-failures.json")
    }

    /// Writes the tests that may fail for the goals.
    pub(super) fn write_known_failures(&self, known: &FailedTests) -> io::Result<()> {
        fs::write(self.known_failures_path(), serde_json::to_vec(known)?)
    }

    /// Reads the tests that may fail.
    ///
    /// # Errors
    /// The reason why they cannot be read, in words.
    pub fn known_failures(&self) -> Result<FailedTests, String> {
        read_json(&self.known_failures_path())
    }

    /// Returns the file of the goals' results.
    fn results_path(&self) -> PathBuf {
        self.directory.join("look.json")
    }

    /// Writes the results of the goals for the batch.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn write(&self, check: &MergeCheck) -> io::Result<()> {
        fs::write(self.results_path(), serde_json::to_vec(check)?)
    }

    /// Reads the results of the goals.
    ///
    /// # Errors
    /// The reason why they cannot be read, in words.
    pub fn read(&self) -> Result<MergeCheck, String> {
        read_json(&self.results_path())
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = files::read_bytes(path, LOOK_CAP_BYTES).map_err(|error| with_causes(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}
