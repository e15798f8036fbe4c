//! The end of a run: its exit code, and where to look if it needs an explanation.

use std::path::Path;

use ralph_core::event::{EndKind, StopReason};
use ralph_system::diagnostics::kind;
use ralph_text::{console, with_causes};
use tracing::{error, info};

use crate::{
    error::Failure,
    host::HostError,
    ui::{Presentation, headless::OutputFormat},
};

/// Logs how a run ended and returns its exit code. A run that ended badly names its log.
pub(super) fn concluded(
    result: Result<StopReason, HostError>,
    log: &Path,
    presentation: Presentation,
) -> Result<u8, Failure> {
    match result {
        Ok(reason) => {
            info!(reason = %kind(&reason), code = reason.exit_code(), "run ended");
            let is_told = presentation.format == OutputFormat::Text && presentation.style.hints;
            if is_told && asks_for_the_log(&reason) && log.exists() {
                console::print(&format!("  log: {}\n", log.display()));
            }
            Ok(reason.exit_code())
        }
        Err(error) => {
            error!(error = ?with_causes(&error), "run failed");
            Err(Failure::from(error).hint(format!("{} shows what ralph did", log.display())))
        }
    }
}

/// Whether the log may help to explain the end of the run.
fn asks_for_the_log(reason: &StopReason) -> bool {
    match reason.kind() {
        EndKind::Bad => true,
        EndKind::Unfinished => matches!(reason, StopReason::BreakerOpen { .. }),
        EndKind::Good => false,
    }
}
