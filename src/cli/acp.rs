//! `ralph acp`: serves an editor over stdin and stdout.

mod args;

use std::io;

use ralph_system::proc::Supervisor;
use ralph_tools::json_rpc;

use crate::{
    acp::{self, LINE_CAP_BYTES, RunStarter},
    app::ProjectPlace,
    error::{Failure, FailureKind},
};

pub(super) use args::AcpArgs;

use super::args::Args;

/// Serves the editor until it closes stdin.
pub(super) fn run(args: &Args, wish: &AcpArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let failed = |error: io::Error| Failure::new(FailureKind::Failed, format!("cannot serve an editor: {error}"));
    let state_dir = args.state_dir.clone();
    let starter = RunStarter {
        supervisor: supervisor.clone(),
        options: wish.options.clone(),
        state_dir: state_dir.clone(),
    };
    let lines = json_rpc::read(io::stdin(), LINE_CAP_BYTES).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let projects = Box::new(move |project: &std::path::Path| {
        let place = ProjectPlace::for_project(project.to_owned(), state_dir.as_deref());
        place.map(|place| place.paths).map_err(|failure| failure.to_string())
    });
    runtime.map_err(failed)?.block_on(acp::serve(lines, starter, projects));
    Ok(0)
}
