//! The guard's orders and its report: two files in the child's private directory.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use ralph_core::event::{ExceededCeiling, Exit};
use ralph_core::json::ReadJson;
use serde::{Deserialize, Serialize};

use super::{Confinement, Ladder, LeftProcess, Mount, Stdin, TreeLimits, texts};

/// Space for a report.
const REPORT_BYTES: usize = 16 << 10;

/// The guard's orders. They hold no environment: that is inherited, and may hold keys that belong in no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GuardSpec {
    /// ralph's pid, which has to be the guard's parent.
    pub ralph: i32,
    pub program: PathBuf,
    #[serde(with = "texts")]
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// The FIFO to use as stdin, if stdin is piped.
    pub input: Option<PathBuf>,
    /// The FIFO to use as stdout; `None` for the terminal.
    pub fifo: Option<PathBuf>,
    /// The FIFO for calls that the tree is refused.
    pub refusals: Option<PathBuf>,
    pub ladder: Ladder,
    pub confinement: Option<Confinement>,
    /// Directories that the tree finds elsewhere, mounted in this order.
    pub mounts: Vec<Mount>,
    /// Whether no variable says that ralph has started the tree.
    pub is_unnamed: bool,
    /// Whether the tree yields to other programs.
    pub is_low: bool,
    /// Memory that each process can allocate.
    pub memory_bytes: Option<u64>,
    /// Limits of the whole tree.
    pub tree_limits: TreeLimits,
}

/// The guard's result, written when no descendant is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GuardReport {
    pub verdict: ProgramEnd,
    /// Processes that no signal ended, as `pid (name)`: another user's, or stuck in the kernel.
    pub survivors: Vec<String>,
    /// The processes that the program left running when it ended, or, if it was stopped, that outlived terminate as
    /// well.
    pub left_running: Vec<LeftProcess>,
    /// The limit that the tree exceeded, so that it was killed.
    pub exceeded: Option<ExceededCeiling>,
}

impl GuardReport {
    /// Makes the report on a program that has left nothing behind.
    pub(super) fn new(verdict: ProgramEnd) -> Self {
        Self {
            verdict,
            survivors: Vec::new(),
            left_running: Vec::new(),
            exceeded: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ProgramEnd {
    Exited { exit: Exit },
    NotStarted { why: String, missing: bool },
}

/// The paths of one child's files.
#[derive(Debug, Clone)]
pub(super) struct ChildFiles {
    pub dir: PathBuf,
}

impl ChildFiles {
    pub(super) fn spec(&self) -> PathBuf {
        self.dir.join("spec.json")
    }

    pub(super) fn fifo(&self) -> PathBuf {
        self.dir.join("stdout")
    }

    /// The FIFO that is standard input, if it is piped.
    pub(super) fn input(&self) -> PathBuf {
        self.dir.join("stdin")
    }

    /// The FIFO with the calls that a confined tree is refused, one JSON object a line, each call once.
    pub(super) fn refusals(&self) -> PathBuf {
        self.dir.join("refusals")
    }

    /// Exists once nothing more is written to standard input: for a guard that started too late for the signal.
    pub(super) fn input_ended(&self) -> PathBuf {
        self.dir.join("stdin-ended")
    }

    /// Exists once the tree is to be ended: for a guard that started too late for the signal, or ignores the signal.
    pub(super) fn stopped(&self) -> PathBuf {
        self.dir.join("stopped")
    }

    /// The directory for files that the program unpacks.
    pub(super) fn unpacked(&self) -> PathBuf {
        self.dir.join("unpacked")
    }

    fn report(&self) -> PathBuf {
        self.dir.join("report.json")
    }

    fn unfinished_report(&self) -> PathBuf {
        self.dir.join("report.tmp")
    }

    /// Takes the space for a report, which can then be written to a full disk.
    pub(super) fn reserve_report(&self) -> io::Result<()> {
        fs::write(self.unfinished_report(), [b' '; REPORT_BYTES])
    }

    /// Writes the report atomically, so that ralph reads all of it or none.
    pub(super) fn write_report(&self, report: &GuardReport) -> io::Result<()> {
        let text = serde_json::to_vec(report)?;
        let mut file = OpenOptions::new().write(true).open(self.unfinished_report())?;
        file.write_all(&text)?;
        file.set_len(text.len() as u64)?;
        fs::rename(self.unfinished_report(), self.report())
    }

    /// Reads the report; `None` if the guard was killed before it wrote one.
    pub(super) fn read_report(&self) -> Option<GuardReport> {
        serde_json::from_slice(&fs::read(self.report()).ok()?).ok()
    }
}

/// Reads the guard's orders and deletes the file.
pub(super) fn take_spec(path: &Path) -> io::Result<GuardSpec> {
    let text = fs::read(path)?;
    // If it cannot be deleted, ralph removes it with its directory.
    _ = fs::remove_file(path);
    Ok(serde_json::from_slice(&text)?)
}
