//! `ralph report --otel`: sends the telemetry of a run that was.

use ralph_text::console::print;
use ralph_words::counted;

use crate::{
    error::{Failure, FailureKind},
    telemetry::{TelemetryTarget, write_run},
};

use super::{args::Args, restore::which_run, run::place};

/// Sends the telemetry of a run to a collector or a file.
pub(super) fn run(args: &Args, run: Option<&str>, target: &str) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    // A relative file is the user's: as for every command line, below the present directory.
    let here = std::env::current_dir().unwrap_or_else(|_| place.project.clone());
    let spans = write_run(&place.paths.run(&run), &TelemetryTarget::read(target, &here))
        .map_err(|error| Failure::of(FailureKind::Failed, &error))?;
    print(&format!("run {run}: {} to {target}\n", counted(spans as u64, "span")));
    Ok(0)
}
