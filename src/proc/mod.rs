//! One child tree: its guard, its terminal, its end. Knows nothing of agents.
//!
//! A child is never started directly. portable-pty starts `ralph __guard`, which is a sub-reaper and starts the
//! program; whatever happens to ralph or to the program, the guard ends every descendant before it exits itself.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::event::Exit;

/// Columns and rows of a terminal; never below 2×2, which vt100 cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

/// What to start and how to end it.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Absolute.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Existing and absolute.
    pub cwd: PathBuf,
    /// Added to ralph's own environment.
    pub env: Vec<(String, String)>,
    pub env_remove: Vec<String>,
    pub stdin: Stdin,
    pub stdout: Stdout,
    pub size: Size,
    pub ladder: Ladder,
    /// Marks every descendant that keeps its environment, as `RALPH_RUN_ID`.
    pub run_id: String,
    /// A directory only the user can read, for the guard's specification and the FIFO.
    pub scratch: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// The file's bytes, then end of file.
    File(PathBuf),
    Null,
    Terminal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdout {
    Terminal,
    /// A FIFO: the program's bytes as it wrote them, without its stderr.
    Piped,
}

/// The rungs of stopping: `first`, then terminate, then kill, one per grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    pub first: StopSignal,
    pub grace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The last call, once every descendant is gone and everything they wrote was handed over.
    fn ended(&mut self, end: End);
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Exited(Exit),
    /// The program could not be started: the system's reason, with the program in it.
    NotStarted(String),
    /// The guard was killed; what it guarded was found and ended.
    GuardLost,
}

/// How fast to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Down the ladder.
    InOrder,
    /// Straight to kill.
    AtOnce,
}
