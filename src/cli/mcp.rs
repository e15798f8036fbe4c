//! `ralph mcp`: serves ralph's own tools to the agent that starts it.

use std::{io, path::Path, sync::Arc};

use ralph_core::event::RunId;
use ralph_state::control::ControlClient;
use ralph_text::console::print_json;
use ralph_tools::{
    json_rpc,
    mcp::{LINE_CAP_BYTES, RunTools, serve},
};

use crate::error::{Failure, FailureKind};

use super::{args::Args, run::place};

/// Serves the tools of the run that listens at `socket`, by default the run of this project.
pub(super) fn run(args: &Args, socket: Option<&Path>, run: Option<&str>, without: &[String]) -> Result<u8, Failure> {
    let socket = match socket {
        Some(socket) => socket.to_owned(),
        None => place(args)?.paths.socket(),
    };
    let run = run.map(|run| RunId(run.to_owned()));
    let failed = |what: &str| Failure::new(FailureKind::Failed, format!("cannot serve tools: {what}"));
    let client = ControlClient::for_socket(&socket).map_err(|error| failed(&error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error.to_string()))?;
    let lines = json_rpc::read(io::stdin(), LINE_CAP_BYTES).map_err(|error| failed(&error.to_string()))?;
    let tools = Arc::new(RunTools::new(client, run, without.to_vec()));
    runtime.block_on(serve(lines, tools, |message| print_json(&format!("{message}\n"))));
    Ok(0)
}
