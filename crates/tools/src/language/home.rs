//! The environment of language tools: the project, the supervisor of their processes, and the sandbox for their files.

use std::{io, path::PathBuf, time::Duration};

use ralph_system::{
    diagnostics::inherited,
    proc::{Launch, Size, StdoutMode, Supervisor},
};
use tokio::task::spawn_blocking;

use super::facts::QueryError;

/// The environment in which servers run.
#[derive(Debug, Clone)]
pub struct Home {
    /// The absolute path of the project, without links.
    pub project: PathBuf,
    pub run_id: String,
    pub scratch: PathBuf,
    /// Starts servers, in the sandbox if there is one.
    pub supervisor: Supervisor,
    /// Variables that are withheld from servers, since these run code that an agent wrote.
    pub withheld: Vec<String>,
    /// An executable that supports `__guard --spec FILE`; `None` for the running one.
    pub guard: Option<PathBuf>,
}

impl Home {
    /// The launch of a program in the project, without input. `grace` is the time it has to end by itself.
    pub(super) fn launch(&self, program: PathBuf, args: &[String], grace: Duration) -> Launch {
        Launch {
            args: args.iter().map(Into::into).collect(),
            env: vec![("NO_COLOR".to_owned(), "1".to_owned())],
            env_remove: self.withheld.clone(),
            stdout: StdoutMode::Piped,
            size: Size { cols: 200, rows: 50 },
            guard: self.guard.clone(),
            ..Launch::new(program, &self.project, grace, &self.run_id, &self.scratch)
        }
    }
}

/// Runs `work` on files under the confinement of the servers' sandbox.
pub(super) fn confined<T: Send>(home: &Home, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    home.supervisor.in_confinement(work)
}

/// Runs `work` on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, QueryError> + Send + 'static,
) -> Result<T, QueryError> {
    spawn_blocking(inherited(work)).await.unwrap_or(Err(QueryError::Closed))
}
