//! Where language tools are at home: the project, what starts their programs, and what they may read.

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use ralph_system::{
    diagnostics::inherited,
    proc::{Ladder, Launch, Size, Stdin, Stdout, StopSignal, Supervisor},
};
use tokio::task::spawn_blocking;

use super::facts::NoAnswer;

/// Where servers run.
#[derive(Debug, Clone)]
pub struct Home {
    /// Absolute, without links.
    pub project: PathBuf,
    pub run_id: String,
    pub scratch: PathBuf,
    /// Starts servers, in the sandbox if there is one.
    pub supervisor: Supervisor,
    /// Variables that servers do not get: they run what an agent wrote.
    pub withheld: Vec<String>,
    /// An executable that answers to `__guard --spec FILE`; none for the one that is running.
    pub guard: Option<PathBuf>,
}

impl Home {
    /// How a program is started in the project, without input; it has so long to end by itself.
    pub(super) fn launch(&self, program: PathBuf, args: &[String], grace: Duration) -> Launch {
        Launch {
            program,
            args: args.iter().map(Into::into).collect::<Vec<OsString>>(),
            cwd: self.project.clone(),
            env: vec![("NO_COLOR".to_owned(), "1".to_owned())],
            env_remove: self.withheld.clone(),
            stdin: Stdin::Null,
            stdout: Stdout::Piped,
            size: Size { cols: 200, rows: 50 },
            ladder: Ladder {
                first: StopSignal::Terminate,
                grace,
            },
            readable: Vec::new(),
            unpacks_to: None,
            run_id: self.run_id.clone(),
            scratch: self.scratch.clone(),
            guard: self.guard.clone(),
        }
    }
}

/// Does something with files, where the sandbox is that servers are in.
pub(super) fn confined<T: Send>(home: &Home, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    home.supervisor.in_confinement(work)
}

/// Does something off the loop's thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NoAnswer> + Send + 'static,
) -> Result<T, NoAnswer> {
    spawn_blocking(inherited(work)).await.unwrap_or(Err(NoAnswer::Closed))
}
