//! What a helper is started with and what is asked of it while it runs, with a guard and without one.

use std::{ffi::OsString, io, os::fd::BorrowedFd, path::PathBuf, process::ExitStatus, time::Duration};

use thiserror::Error;

/// A program with everything it is started with, its three files excepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// Looked for in `PATH` unless it has a slash in it.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// All of it.
    pub environment: Vec<(OsString, OsString)>,
    /// How much it and each of its children may allocate; none if nothing but the machine bounds that, as nothing else does
    /// where there is no guard.
    pub memory_bytes: Option<u64>,
}

/// A helper that runs. Not to be asked any more once it has told its end or was killed.
pub(super) trait Process {
    /// Becomes readable when [`Process::ended`] has something to tell; none where that has to be asked again and again.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Tells, without waiting, how it ended; by then everything below it has been ended as well.
    fn ended(&mut self) -> Result<Option<ExitStatus>, HelperError>;

    /// Ends it with everything below it, and returns when that is done.
    fn kill(&mut self);
}

/// Why there is no end to tell of.
#[derive(Debug, Error)]
pub enum HelperError {
    #[error("it cannot be run")]
    Start(#[source] io::Error),
    /// It was ended, with everything below it.
    #[error("it did not end within {} s", deadline.as_secs())]
    TimedOut { deadline: Duration },
    #[error("the guard of ralph's helpers was killed")]
    GuardLost,
}
