//! The order for a helper, and the interface to a running one, with a guard and without.

use std::{ffi::OsString, io, os::fd::BorrowedFd, path::PathBuf, process::ExitStatus, time::Duration};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::proc::{Confinement, texts};

/// A program with everything it is started with, except its three files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct HelperSpec {
    /// Looked for in `PATH` unless it has a slash in it.
    pub program: OsString,
    #[serde(with = "texts")]
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment.
    #[serde(with = "texts::pairs")]
    pub environment: Vec<(OsString, OsString)>,
    /// Memory limit of the helper and each of its children; `None` for no limit, which is also the case without a
    /// guard.
    pub memory_bytes: Option<u64>,
    /// The rights of the helper and everything that it starts; `None` for all rights of the user.
    pub confinement: Option<Confinement>,
}

/// A running helper. Must not be used any more once it has reported its end or was killed.
pub(super) trait HelperProcess {
    /// Becomes readable when [`HelperProcess::ended`] has a result; `None` if it has to be polled.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Returns, without waiting, how it ended; by then everything below it has been ended as well.
    fn ended(&mut self) -> Result<Option<ExitStatus>, HelperError>;

    /// Ends it with everything below it, and returns when that is done.
    fn kill(&mut self);
}

/// Why the end of a helper is unknown.
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
