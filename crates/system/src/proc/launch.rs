//! What a child tree is started with, what is heard of it, and how it is ended: the words that all of `proc` shares.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use ralph_core::event::Exit;
use serde::{Deserialize, Serialize};

/// Marks every descendant of a run that keeps its environment.
pub const RUN_ID_VAR: &str = "RALPH_RUN_ID";

/// Variables that point git at one repository, as `git rev-parse --local-env-vars` lists them: with those of a hook or of
/// `git rebase --exec`, a program works on the repository that called ralph, wherever it is started. The settings among them stay.
pub(super) const REPOSITORY_VARS: [&str; 11] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Columns and rows of a terminal; never below 2×2, which vt100 cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

impl Size {
    /// Returns the nearest size that every part of ralph can take.
    #[must_use]
    pub fn clamped(self) -> Size {
        Size {
            cols: self.cols.max(2),
            rows: self.rows.max(2),
        }
    }
}

/// What to start and how to end it.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Absolute.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Existing and absolute.
    pub cwd: PathBuf,
    /// Added to ralph's own environment. `TERM` is `xterm-256color` unless it is given here.
    pub env: Vec<(String, String)>,
    pub env_remove: Vec<String>,
    pub stdin: Stdin,
    pub stdout: Stdout,
    pub size: Size,
    pub ladder: Ladder,
    /// Files of ralph's own that the program reads by their names: a confined one could not otherwise.
    pub readable: Vec<PathBuf>,
    /// A variable that names a directory for what the program unpacks, which goes with it.
    pub unpacks_to: Option<String>,
    /// Marks every descendant that keeps its environment, as [`RUN_ID_VAR`].
    pub run_id: String,
    /// An existing directory only the user can read, for the guard's specification and the FIFO.
    pub scratch: PathBuf,
    /// An executable that answers to `__guard --spec FILE`; none for the one that is running.
    pub guard: Option<PathBuf>,
}

/// What a program, and everything that it starts, may do with files and signals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories and files that may be written, and read even inside what is hidden. What is not there is left out.
    pub write: Vec<PathBuf>,
    /// Directories and files that may be read even inside what is hidden.
    pub read: Vec<PathBuf>,
    /// Directories and files whose contents are not read. Their names are seen.
    pub hidden: Vec<PathBuf>,
    /// Directories whose names are not seen either: none of them can be listed, and no directory above one.
    pub unlisted: Vec<PathBuf>,
    /// Refuses to start what would be confined by less than this.
    pub required: bool,
    /// Uses no newer version of Landlock.
    pub abi: Option<i32>,
    /// None leaves the network open.
    pub network: Option<Network>,
    /// Variables that are set, or taken away. In no file, since they may hold secrets: who starts the program sets them.
    #[serde(skip)]
    pub variables: Vec<(String, Option<String>)>,
}

/// What a program may do with sockets where the network is not open: TCP to one port, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub port: u16,
    /// Whether it may take connections.
    pub listens: bool,
}

/// How well this system confines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfinementLevel {
    None,
    Landlock { abi: i32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// The file's bytes, then end of file.
    File(PathBuf),
    Null,
    Terminal,
    /// What [`Child::write_input`](super::Child::write_input) is given, until it is closed.
    Piped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdout {
    Terminal,
    /// A FIFO: the program's bytes as it wrote them, without its stderr.
    Piped,
}

/// The rungs of stopping: `first` to the program's process group, then terminate to every descendant, then kill, with
/// one grace between two rungs. When `first` is terminate, it goes to every descendant and the second rung is left out.
///
/// Two cases climb down faster: when the program itself has ended, what it left behind gets terminate at once and
/// 300 ms; when ralph has died, no rung takes more than 250 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    pub first: StopSignal,
    pub grace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopSignal {
    Interrupt,
    Terminate,
}

/// Takes what a child writes. Called from the child's reader thread: blocking here slows the child, nothing else.
pub trait Output: Send + 'static {
    /// Bytes of the terminal, escape sequences and all.
    fn terminal(&mut self, bytes: &[u8]);
    /// Bytes of the program's stdout; only with [`Stdout::Piped`].
    fn stdout(&mut self, bytes: &[u8]);
    /// [`Child::wake`](super::Child::wake) was called since the last call.
    fn woken(&mut self) {}
    /// The last call, once every descendant is gone and everything they wrote was handed over.
    fn ended(&mut self, end: End);
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Exited(Exit),
    /// The program could not be started.
    NotStarted {
        /// The system's reason, with the path that it is about.
        why: String,
        /// The program itself is not there or cannot be executed; else something around it failed.
        missing: bool,
    },
    /// The guard was killed; what it guarded was found and ended.
    GuardLost,
}

/// How fast to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Down the ladder.
    Graceful,
    /// Straight to kill.
    Immediate,
}

/// How much a child tree has done so far; two equal readings mean that it did nothing in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Bytes it has written, to the terminal and to stdout.
    pub output_bytes: u64,
    /// Time on the CPU of all its processes, those that ended included. Never falls.
    pub cpu: Duration,
}
