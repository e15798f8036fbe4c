//! The rules by which merged trees are judged, and the files of one judging.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::Proof;
use ralph_gate::guard::Guard;
use ralph_plan::batch::{MergedLook, Side};
use ralph_system::files;
use ralph_text::with_causes;

/// Most bytes of what the goals of a merged tree came to.
const LOOK_CAP_BYTES: u64 = 16 << 20;

/// The rules by which the tests of merged trees are judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct MergeGate {
    /// The guard; none where nothing is guarded.
    pub(crate) guard: Option<Guard>,
    /// The least proof that a merge needs.
    pub(crate) require: Proof,
}

/// The files of one judging.
#[derive(Debug, Clone)]
pub(crate) struct JudgingFiles {
    directory: PathBuf,
}

impl JudgingFiles {
    pub(crate) fn new(directory: PathBuf) -> JudgingFiles {
        JudgingFiles { directory }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The tests of a side.
    pub(crate) fn store(&self, side: Side) -> PathBuf {
        self.directory.join(match side {
            Side::Target => "target",
            Side::Plan => "plan",
        })
    }

    /// The record that is written ahead of a trial.
    pub(crate) fn record(&self) -> PathBuf {
        self.directory.join("trial")
    }

    /// The file of the goals' results.
    fn look(&self) -> PathBuf {
        self.directory.join("look.json")
    }

    /// Keeps what the goals came to, for the batch.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(crate) fn write(&self, look: &MergedLook) -> io::Result<()> {
        fs::write(self.look(), serde_json::to_vec(look)?)
    }

    /// Reads what the goals came to.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    pub(super) fn read(&self) -> Result<MergedLook, String> {
        let path = self.look();
        let bytes = files::read_bytes(&path, LOOK_CAP_BYTES).map_err(|error| with_causes(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
    }
}
