//! Runs the loop in its own process, with this terminal as its first screen.

use std::{ffi::OsString, io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use ralph_core::event::{RunId, StopReason};
use ralph_state::{
    control::Address,
    store::{journal::read_view, lock},
};
use ralph_system::{
    files::{self, ReadError},
    paths::ProjectPaths,
    proc::{DetachedLoop, LoopStart, Supervisor},
};
use ralph_text::{console, with_causes};
use ralph_ui::tui::{self, ScreenExit};

use crate::{
    error::{Failure, FailureKind},
    ui::{
        Presentation, ScreenOptions,
        attached::{self, AttachError, AttachResult, AttachedClient},
        remote::StreamEnd,
        signals::code_of,
        summary,
    },
};

use super::ProjectPlace;

/// Time a loop has to exit after it has reported the end of the run: it may wait for the user's notification command.
const ENDING: Duration = Duration::from_secs(10);
/// Time a loop has to notice that no other screen shows the end.
const LEAVING: Duration = Duration::from_secs(3);
/// Maximum size of a loop's output, which is a few lines.
const OUTPUT_CAP_BYTES: u64 = 64 * 1024;

/// Commands to type after the screen of a run was left.
#[derive(Debug, Clone)]
pub(crate) struct FollowUpCommands {
    pub(crate) again: String,
    pub(crate) stop: String,
    pub(crate) resume: String,
}

impl FollowUpCommands {
    /// The commands for the run of this project.
    pub(crate) fn here() -> FollowUpCommands {
        let [again, stop, resume] = ["ralph attach", "ralph stop", "ralph continue"].map(str::to_owned);
        FollowUpCommands { again, stop, resume }
    }
}

/// Why the screen of a loop was closed.
pub(crate) enum DetachedEnd {
    /// The run is over, or the user left; the value is the exit code.
    Ended(u8),
    /// The user wants to continue the finished run with this option, which raises the limit that was reached.
    Continued([String; 2]),
}

/// Starts a loop with `args`, and shows it on this terminal until it is over or the user leaves.
///
/// # Errors
/// A [`Failure`] if the process cannot be started or the run cannot be shown. Errors of the run itself are printed by
/// its process.
pub(crate) fn run_detached(
    place: &ProjectPlace,
    presentation: Presentation,
    screen: ScreenOptions,
    args: impl IntoIterator<Item = OsString>,
    supervisor: &Supervisor,
) -> Result<DetachedEnd, Failure> {
    let failed = |error: io::Error| {
        let what = format!("the loop cannot be started in a process of its own: {error}");
        Failure::new(FailureKind::Failed, what).hint("`ralph --foreground` runs it in this one")
    };
    // Missing prerequisites are reported before any process starts.
    let mut client = AttachedClient::new(
        attached::RunLocation::Here(&place.paths),
        presentation,
        screen,
        supervisor,
    )?;
    let mut detached = supervisor.start_detached(args).map_err(failed)?;
    let run = match detached.begin().map_err(failed)? {
        LoopStart::Ready { run } => RunId(run),
        LoopStart::Ended(status) => return Ok(DetachedEnd::Ended(exit_code(status))),
    };
    client.has_started(detached.pid());
    let _terminal = tui::terminal::TerminalGuard;
    let attached_result = match client.show(|| detached.attached()) {
        Ok(attached_result) => attached_result,
        Err(error) => {
            // A signal may have stopped the loop before its screen was shown.
            let Some(status) = detached.wait(LEAVING) else {
                let hint = "the run continues: `ralph attach` shows it, `ralph stop` stops it";
                return Err(Failure::from(error).hint(hint));
            };
            summary::print(&place.paths.run(&run), presentation.style);
            print_output(&place.paths, &run);
            return Ok(DetachedEnd::Ended(exit_code(status)));
        }
    };
    let status = status_of(&attached_result, &mut detached);
    if attached_result.left == ScreenExit::Continued
        && let Some(option) = more(&place.paths, &attached_result.run)
    {
        return Ok(DetachedEnd::Continued(option));
    }
    let code = leave(
        &place.paths,
        &attached_result,
        presentation,
        &FollowUpCommands::here(),
        status.map(exit_code),
    );
    // An error that ended the loop outside of the run is only in this output.
    if status.is_some() {
        print_output(&place.paths, &run);
    }
    code.map(DetachedEnd::Ended)
}

/// The option that raises the limit that a run has reached.
fn more(paths: &ProjectPaths, run: &RunId) -> Option<[String; 2]> {
    tui::more(&read_view(paths, run).ok()?)
}

/// Waits for the exit of the loop's process, if it is about to end.
fn status_of(attached_result: &AttachResult, detached: &mut DetachedLoop) -> Option<ExitStatus> {
    match (attached_result.left, attached_result.ending) {
        (_, Some(_)) => detached.wait(ENDING),
        // Other screens may still show the run.
        (ScreenExit::Seen | ScreenExit::Continued, None) => {
            detached.is_over(LEAVING).then(|| detached.wait(ENDING)).flatten()
        }
        (ScreenExit::Over | ScreenExit::Detached | ScreenExit::Signalled(_), None) => None,
    }
}

/// Shows the run in progress in this project on this terminal until it is over or the user leaves. Returns the exit
/// code.
///
/// # Errors
/// A [`Failure`] if no run is in progress or it cannot be shown.
pub(crate) fn attach(
    paths: &ProjectPaths,
    presentation: Presentation,
    screen: ScreenOptions,
    commands: &FollowUpCommands,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let client = AttachedClient::new(attached::RunLocation::Here(paths), presentation, screen, supervisor)?;
    let _terminal = tui::terminal::TerminalGuard;
    let attached_result = client.show(|| ())?;
    leave(paths, &attached_result, presentation, commands, None)
}

/// Shows the run at `address` on this terminal until it is over or the user leaves. Returns the exit code.
///
/// # Errors
/// A [`Failure`] if no ralph answers there or the run cannot be shown.
pub(crate) fn attach_at(
    address: Address,
    presentation: Presentation,
    screen: ScreenOptions,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let client = AttachedClient::new(attached::RunLocation::There(address), presentation, screen, supervisor)?;
    let terminal = tui::terminal::TerminalGuard;
    let attached_result = client.show(|| ())?;
    drop(terminal);
    let run = &attached_result.run.0;
    match (attached_result.left, attached_result.ending) {
        (_, Some(StreamEnd::Ended(code))) => {
            console::print(&format!(
                "run {run} is over; `ralph report` summarizes it on its machine\n"
            ));
            Ok(code.unwrap_or(1))
        }
        (ScreenExit::Signalled(by), _) => Ok(code_of(by)),
        (ScreenExit::Over, _) => Err(Failure::new(FailureKind::Failed, format!("run {run} no longer exists"))),
        (ScreenExit::Seen | ScreenExit::Continued, _) if attached_result.stopped.is_some() => {
            console::print(&format!(
                "run {run} is over; `ralph report` summarizes it on its machine\n"
            ));
            Ok(attached_result.stopped.unwrap_or(1))
        }
        (ScreenExit::Detached | ScreenExit::Seen | ScreenExit::Continued, _) => {
            console::print(&format!("detached: run {run} continues without this screen\n"));
            Ok(0)
        }
    }
}

/// Prints, after the screen is gone, how the run ended or that it continues. `code` is the exit code of its process, if
/// known.
fn leave(
    paths: &ProjectPaths,
    attached_result: &AttachResult,
    presentation: Presentation,
    commands: &FollowUpCommands,
    code: Option<u8>,
) -> Result<u8, Failure> {
    match (attached_result.left, attached_result.ending) {
        (ScreenExit::Detached, None) => {
            console::print(&format!(
                "detached: the run continues · `{}` shows it again, `{}` stops it\n",
                commands.again, commands.stop
            ));
            return Ok(0);
        }
        (ScreenExit::Signalled(by), None) => return Ok(code_of(by)),
        (_, Some(_)) | (ScreenExit::Over | ScreenExit::Seen | ScreenExit::Continued, None) => {}
    }
    summary::print(&paths.run(&attached_result.run), presentation.style);
    let reason = reason(paths, &attached_result.run);
    match (attached_result.ending, reason, code) {
        (Some(StreamEnd::Ended(Some(code))), _, _) | (_, Some(_), Some(code)) => Ok(code),
        (_, Some(reason), None) => Ok(reason.exit_code()),
        (_, None, None) if lock::is_held(paths) => Err(Failure::new(
            FailureKind::Failed,
            "the loop no longer answers, but its process exists",
        )
        .hint(format!(
            "`{}` shows it again, `ralph status` what it does",
            commands.again
        ))),
        (_, None, code) => Err(Failure::new(
            FailureKind::Failed,
            match code {
                Some(code) => format!("the run was interrupted: its process exited with code {code}"),
                None => "the run was interrupted: its process is gone".to_owned(),
            },
        )
        .hint(format!("`{}` resumes it", commands.resume))),
    }
}

/// The reason of the run's end, from its journal.
fn reason(paths: &ProjectPaths, run: &RunId) -> Option<StopReason> {
    read_view(paths, run).ok()?.stop_reason().cloned()
}

/// Prints the loop's own output, which it wrote without a terminal: the error, and where to look.
fn print_output(paths: &ProjectPaths, run: &RunId) {
    match files::read_text(&paths.run(run).output(), OUTPUT_CAP_BYTES) {
        Ok(text) if !text.is_empty() => console::complain(&text),
        Ok(_) => {}
        Err(ReadError::System(error)) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => console::warn(&with_causes(&error)),
    }
}

/// The exit code of a process, in the convention of shells.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Control(error) => error.into(),
            error @ (AttachError::NoHello | AttachError::Scratch(_) | AttachError::Threads(_)) => {
                Failure::of(FailureKind::Failed, &error)
            }
        }
    }
}
