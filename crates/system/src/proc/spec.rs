//! What ralph tells the guard, and what the guard tells ralph: two files in the child's private directory.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::Exit;
use serde::{Deserialize, Serialize};

use super::{Confinement, Ladder, Stdin};

/// The guard's orders. Holds no environment: that is inherited, and may hold keys that belong in no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    /// ralph's pid, which has to be the guard's parent.
    pub ralph: i32,
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// The FIFO to use as stdin where that is piped.
    pub input: Option<PathBuf>,
    /// The FIFO to use as stdout; the terminal if there is none.
    pub fifo: Option<PathBuf>,
    pub ladder: Ladder,
    pub confinement: Option<Confinement>,
    /// What each process can allocate.
    pub memory_bytes: Option<u64>,
}

/// The guard's last words, written when no descendant is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub verdict: Verdict,
    /// Processes that no signal ended, as `pid (name)`: another user's, or stuck in the kernel.
    pub survivors: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Verdict {
    Exited { exit: Exit },
    NotStarted { why: String, missing: bool },
}

/// Where the files of one child are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub dir: PathBuf,
}

impl Files {
    pub(super) fn spec(&self) -> PathBuf {
        self.dir.join("spec.json")
    }

    pub(super) fn fifo(&self) -> PathBuf {
        self.dir.join("stdout")
    }

    /// The FIFO that is standard input, where it is piped.
    pub(super) fn input(&self) -> PathBuf {
        self.dir.join("stdin")
    }

    /// There once nothing more is written to standard input: for a guard that was not there yet to be told.
    pub(super) fn input_ended(&self) -> PathBuf {
        self.dir.join("stdin-ended")
    }

    /// There once the tree is to be ended: for a guard that was not there yet to be told, and whose starter ignores such signals.
    pub(super) fn stopped(&self) -> PathBuf {
        self.dir.join("stopped")
    }

    /// What the program unpacks, where it says that it does.
    pub(super) fn unpacked(&self) -> PathBuf {
        self.dir.join("unpacked")
    }

    fn report(&self) -> PathBuf {
        self.dir.join("report.json")
    }

    /// Writes the report in one step, so that ralph reads all of it or none.
    pub(super) fn write_report(&self, report: &Report) -> io::Result<()> {
        let unfinished = self.dir.join("report.tmp");
        fs::write(&unfinished, serde_json::to_vec(report)?)?;
        fs::rename(unfinished, self.report())
    }

    /// Reads the report; none if the guard was killed before it had one.
    pub(super) fn read_report(&self) -> Option<Report> {
        serde_json::from_slice(&fs::read(self.report()).ok()?).ok()
    }
}

/// Reads the guard's orders and deletes the file.
pub(super) fn take_spec(path: &Path) -> io::Result<Spec> {
    let text = fs::read(path)?;
    // A file that stays is removed with its directory by ralph; the orders themselves are good.
    _ = fs::remove_file(path);
    Ok(serde_json::from_slice(&text)?)
}
