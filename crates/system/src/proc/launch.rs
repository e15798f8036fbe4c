//! The vocabulary of `proc`: how a child tree is started, its output and its end.

use std::{
    ffi::OsString,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_core::event::{ExceededCeiling, Exit};
use serde::{Deserialize, Serialize};

/// The environment variable with the run's id: it marks every descendant that keeps its environment.
pub const RUN_ID_VAR: &str = "RALPH_RUN_ID";

/// Variables that point git at one repository, as `git rev-parse --local-env-vars` lists them. With those of a hook or
/// of `git rebase --exec`, a program would work on the repository that called ralph, wherever it is started. The
/// variables of that list that hold git settings are kept.
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
    /// Returns the nearest size that every part of ralph supports.
    #[must_use]
    pub fn clamped(self) -> Size {
        Size {
            cols: self.cols.max(2),
            rows: self.rows.max(2),
        }
    }
}

/// A program to start, with its surroundings and the way to end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Absolute path.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Existing and absolute.
    pub cwd: PathBuf,
    /// Added to ralph's own environment. `TERM` is `xterm-256color` unless it is given here.
    pub env: Vec<(String, String)>,
    /// With [`RUN_ID_VAR`] among them, the tree is marked by a variable that says nothing of ralph.
    pub env_remove: Vec<String>,
    pub stdin: Stdin,
    pub stdout: StdoutMode,
    pub size: Size,
    pub ladder: Ladder,
    /// ralph's own files that the program opens by name; readable even if the program is confined.
    pub readable: Vec<PathBuf>,
    /// ralph's own existing directories that the program fills; writable even if the program is confined.
    pub writable: Vec<PathBuf>,
    /// The environment variable that names the directory into which the program unpacks files; it is removed with the
    /// child.
    pub unpacks_to: Option<String>,
    /// The run's id, the value of [`RUN_ID_VAR`].
    pub run_id: String,
    /// An existing directory only the user can read, for the guard's specification and the FIFO.
    pub scratch: PathBuf,
    /// An executable that answers to `__guard --spec FILE`; `None` for the running executable.
    pub guard: Option<PathBuf>,
}

impl Launch {
    /// A program without arguments or input, on a terminal of 80×24, which is asked to end by SIGTERM.
    pub fn new(program: impl Into<PathBuf>, cwd: &Path, grace: Duration, run_id: &str, scratch: &Path) -> Launch {
        Launch {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.to_owned(),
            env: Vec::new(),
            env_remove: Vec::new(),
            stdin: Stdin::Null,
            stdout: StdoutMode::Terminal,
            size: Size { cols: 80, rows: 24 },
            ladder: Ladder {
                first: StopSignal::Terminate,
                grace,
            },
            readable: Vec::new(),
            writable: Vec::new(),
            unpacks_to: None,
            run_id: run_id.to_owned(),
            scratch: scratch.to_owned(),
            guard: None,
        }
    }
}

/// The rights of a program, and everything that it starts, to files, signals and sockets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories and files that may be written, and read even inside a hidden one. Missing ones are skipped.
    pub write: Vec<PathBuf>,
    /// Directories and files that may be read even inside a hidden one.
    pub read: Vec<PathBuf>,
    /// Directories and files whose contents cannot be read. Their names can be listed.
    pub hidden: Vec<PathBuf>,
    /// Directories whose contents cannot be listed either, nor those of any directory above one.
    pub unlisted: Vec<PathBuf>,
    /// Whether to refuse to start a program that the system would confine by less than this.
    pub required: bool,
    /// The newest version of Landlock to use; `None` for the newest known.
    pub abi: Option<i32>,
    /// `None` leaves all connections open.
    pub network: Option<Network>,
    /// Variables to set, or to remove if `None`. Never written to a file, since they may hold secrets: the process that
    /// starts the program sets them.
    #[serde(skip)]
    pub variables: Vec<(String, Option<String>)>,
}

/// A directory that a child tree finds at another path as well. Only that tree and what it starts see it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub directory: PathBuf,
    /// An existing directory.
    pub at: PathBuf,
    pub writes: MountWrites,
}

/// The place of what a tree writes to a mounted directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MountWrites {
    /// The directory itself.
    Here,
    /// An existing directory; the mounted one where the system has no such mounts, or files of other users are in it.
    To(PathBuf),
    /// An existing directory. The mounted one lies above what is there already, and takes files out of it
    /// ([`crate::tree_copy::take_out`]).
    Beside(PathBuf),
    /// The directory is read-only.
    Nowhere,
}

/// The connections that a program, and everything that it starts, may make and accept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Network {
    /// The port on this machine of the only way to other machines. Connections between processes of the program stay
    /// possible, and nothing else of the network does. `None` leaves the network open, but for sockets with a path.
    pub proxy_port: Option<u16>,
    /// Other addresses that it may connect to.
    pub addresses: Vec<SocketAddr>,
    /// Sockets of other programs of this machine that it may connect to, and directories of such sockets. Real paths.
    pub sockets: Vec<PathBuf>,
}

/// A call that a confined program was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RefusedCall {
    /// A TCP connection to `address`, not through the proxy.
    Connection { address: SocketAddr },
    /// A connection to the socket at `path`.
    Socket { path: PathBuf },
    /// Listening at `address`, where other machines could connect.
    Listening { address: SocketAddr },
}

/// Receives the calls that a confined program is refused.
#[derive(Clone)]
pub struct OnRefused(pub Arc<dyn Fn(RefusedCall) + Send + Sync>);

impl OnRefused {
    /// Reports nothing.
    pub fn ignored() -> OnRefused {
        OnRefused(Arc::new(|_| {}))
    }
}

impl fmt::Debug for OnRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnRefused")
    }
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
    /// The bytes given to [`Child::write_input`](super::Child::write_input), until it is closed.
    Piped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdoutMode {
    Terminal,
    /// A FIFO: the program's bytes as it wrote them, without its stderr.
    Piped,
}

/// The rungs of stopping: `first` to the program's process group, then terminate to every descendant, then kill, with
/// one grace between two rungs. If `first` is terminate, it goes to every descendant and the second rung is skipped.
///
/// Two cases are faster: when the program itself has ended, the processes that it left behind get terminate at once and
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

/// Receives a child's output. Called from the child's reader thread: blocking here slows only the child.
pub trait OutputSink: Send + 'static {
    /// Receives bytes of the terminal, escape sequences included.
    fn terminal(&mut self, bytes: &[u8]);
    /// Receives bytes of the program's stdout; only with [`StdoutMode::Piped`].
    fn stdout(&mut self, bytes: &[u8]);
    /// Reports that [`Child::wake`](super::Child::wake) was called since the last call, or that [`OutputSink::due`] has
    /// come.
    fn woken(&mut self) {}
    /// The time at which [`OutputSink::woken`] is to be called without a wake.
    fn due(&self) -> Option<Instant> {
        None
    }
    /// The last call, once every descendant is gone and everything they wrote was handed over.
    fn ended(&mut self, end: ChildEnd);
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildEnd {
    Exited(Exit),
    /// The program could not be started.
    NotStarted {
        /// The system's reason, with the path that it is about.
        why: String,
        /// Whether the program itself is missing or cannot be executed, rather than something around it.
        missing: bool,
    },
    /// All processes were killed because together they used more than they may.
    Exceeded(ExceededCeiling),
    /// The guard was killed; the processes that it guarded were found and ended.
    GuardLost,
}

/// How fast to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSpeed {
    /// Down the ladder.
    Graceful,
    /// Straight to kill.
    Immediate,
}

/// How much a child tree has done so far; two equal readings mean that it did nothing in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Bytes written to the terminal and to stdout.
    pub output_bytes: u64,
    /// CPU time of all its processes, ended ones included. Never falls.
    pub cpu: Duration,
}
