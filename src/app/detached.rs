//! A run in a process of its own, and this terminal as its first screen.

use std::{ffi::OsString, io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use ralph_core::event::{RunId, StopReason};
use ralph_state::{
    control::stream::Address,
    store::{lock, paths::ProjectPaths},
};
use ralph_system::{
    files::{self, ReadError},
    proc::{Began, Detached, Supervisor},
};
use ralph_text::{console, with_causes};

use super::Place;
use crate::{
    driver::read_view,
    error::{Failure, FailureKind},
    ui::{
        Presentation, ScreenOptions,
        attached::{self, AttachError, Visit, Visitor},
        remote::Ending,
        signals::code_of,
        summary, tui,
        tui::Left,
    },
};

/// How long a loop may take to end after it has said that the run is over: its user's command may have to be waited for.
const ENDING: Duration = Duration::from_secs(10);
/// How long it may take to find that no other screen shows the end.
const LEAVING: Duration = Duration::from_secs(3);
/// What a loop prints is a few lines.
const OUTPUT_CAP_BYTES: u64 = 64 * 1024;

/// What to type about a run whose screen is left.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) again: String,
    pub(crate) stop: String,
    pub(crate) resume: String,
}

impl Ways {
    /// Of the run of this project.
    pub(crate) fn here() -> Ways {
        let [again, stop, resume] = ["ralph attach", "ralph stop", "ralph continue"].map(str::to_owned);
        Ways { again, stop, resume }
    }
}

/// How the show of a loop ended.
pub(crate) enum DetachedEnd {
    /// With this exit code: the run is over, or its user left it.
    Ended(u8),
    /// Its user wants a run that is over to be continued with this option, which allows more of what it has used up.
    Continued([String; 2]),
}

/// Starts a loop by `args` and shows it on this terminal, until it is over or its user leaves.
///
/// # Errors
/// A [`Failure`] if there can be no process, or nothing to show it with. What is wrong with the run itself, its process says.
pub(crate) fn run_detached(
    place: &Place,
    presentation: Presentation,
    screen: ScreenOptions,
    args: impl IntoIterator<Item = OsString>,
    supervisor: &Supervisor,
) -> Result<DetachedEnd, Failure> {
    let failed = |error: io::Error| {
        let what = format!("the loop cannot be started in a process of its own: {error}");
        Failure::new(FailureKind::Failed, what).hint("`ralph --foreground` runs it in this one")
    };
    // What may be missing is found out before anything runs.
    let mut visitor = Visitor::new(attached::Place::Here(&place.paths), presentation, screen, supervisor)?;
    let mut detached = supervisor.start_detached(args).map_err(failed)?;
    let run = match detached.begin().map_err(failed)? {
        Began::Ready { run } => RunId(run),
        Began::Ended(status) => return Ok(DetachedEnd::Ended(exit_code(status))),
    };
    visitor.has_started(detached.pid());
    let _terminal = tui::terminal::Guard;
    let visit = match visitor.show(|| detached.attached()) {
        Ok(visit) => visit,
        Err(error) => {
            // A signal may have stopped the loop before it was shown.
            let Some(status) = detached.wait(LEAVING) else {
                let hint = "the run continues: `ralph attach` shows it, `ralph stop` stops it";
                return Err(Failure::from(error).hint(hint));
            };
            summary::print(&place.paths.run(&run), presentation.style);
            print_output(&place.paths, &run);
            return Ok(DetachedEnd::Ended(exit_code(status)));
        }
    };
    let status = status_of(&visit, &mut detached);
    if visit.left == Left::Continued
        && let Some(option) = more(&place.paths, &visit.run)
    {
        return Ok(DetachedEnd::Continued(option));
    }
    let code = leave(&place.paths, &visit, presentation, &Ways::here(), status.map(exit_code));
    // What has ended the loop, if it was not the run itself, is there alone.
    if status.is_some() {
        print_output(&place.paths, &run);
    }
    code.map(DetachedEnd::Ended)
}

/// The option that allows a run more of what it has used up.
fn more(paths: &ProjectPaths, run: &RunId) -> Option<[String; 2]> {
    tui::more(&read_view(paths, run).ok()?)
}

/// How the process of the loop ended, if it does.
fn status_of(visit: &Visit, detached: &mut Detached) -> Option<ExitStatus> {
    match (visit.left, visit.ending) {
        (_, Some(_)) => detached.wait(ENDING),
        // Others may look at it still.
        (Left::Seen | Left::Continued, None) => detached.is_over(LEAVING).then(|| detached.wait(ENDING)).flatten(),
        (Left::Over | Left::Detached | Left::Signalled(_), None) => None,
    }
}

/// Shows the run that works in this project on this terminal, until it is over or its user leaves; returns the exit code.
///
/// # Errors
/// A [`Failure`] if none runs, or if there is nothing to show it with.
pub(crate) fn attach(
    paths: &ProjectPaths,
    presentation: Presentation,
    screen: ScreenOptions,
    ways: &Ways,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let visitor = Visitor::new(attached::Place::Here(paths), presentation, screen, supervisor)?;
    let _terminal = tui::terminal::Guard;
    let visit = visitor.show(|| ())?;
    leave(paths, &visit, presentation, ways, None)
}

/// Shows the run at `address` on this terminal, until it is over or its user leaves; returns the exit code.
///
/// # Errors
/// A [`Failure`] if nobody answers there, or if there is nothing to show it with.
pub(crate) fn attach_at(
    address: Address,
    presentation: Presentation,
    screen: ScreenOptions,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let visitor = Visitor::new(attached::Place::There(address), presentation, screen, supervisor)?;
    let terminal = tui::terminal::Guard;
    let visit = visitor.show(|| ())?;
    drop(terminal);
    let run = &visit.run.0;
    match (visit.left, visit.ending) {
        (_, Some(Ending::Ended(code))) => {
            console::print(&format!("run {run} is over; `ralph report` says more where it ran\n"));
            Ok(code.unwrap_or(1))
        }
        (Left::Signalled(by), _) => Ok(code_of(by)),
        (Left::Over, _) => Err(Failure::new(
            FailureKind::Failed,
            format!("run {run} is not there any more"),
        )),
        (Left::Seen | Left::Continued, _) if visit.stopped.is_some() => {
            console::print(&format!("run {run} is over; `ralph report` says more where it ran\n"));
            Ok(visit.stopped.unwrap_or(1))
        }
        (Left::Detached | Left::Seen | Left::Continued, _) => {
            console::print(&format!("detached: run {run} continues without this screen\n"));
            Ok(0)
        }
    }
}

/// Says on the terminal how a run ended, or that it goes on, after its screen is gone. `code` is how its process ended, if that
/// is known.
fn leave(
    paths: &ProjectPaths,
    visit: &Visit,
    presentation: Presentation,
    ways: &Ways,
    code: Option<u8>,
) -> Result<u8, Failure> {
    match (visit.left, visit.ending) {
        (Left::Detached, None) => {
            console::print(&format!(
                "detached: the run continues · `{}` shows it again, `{}` stops it\n",
                ways.again, ways.stop
            ));
            return Ok(0);
        }
        (Left::Signalled(by), None) => return Ok(code_of(by)),
        (_, Some(_)) | (Left::Over | Left::Seen | Left::Continued, None) => {}
    }
    summary::print(&paths.run(&visit.run), presentation.style);
    let reason = reason(paths, &visit.run);
    match (visit.ending, reason, code) {
        (Some(Ending::Ended(Some(code))), _, _) | (_, Some(_), Some(code)) => Ok(code),
        (_, Some(reason), None) => Ok(reason.exit_code()),
        (_, None, None) if lock::is_held(paths) => Err(Failure::new(
            FailureKind::Failed,
            "the loop does not answer any more, but its process is there",
        )
        .hint(format!("`{}` shows it again, `ralph status` what it does", ways.again))),
        (_, None, code) => Err(Failure::new(
            FailureKind::Failed,
            match code {
                Some(code) => format!("the run was interrupted: its process ended with exit code {code}"),
                None => "the run was interrupted: its process is gone".to_owned(),
            },
        )
        .hint(format!("`{}` resumes it", ways.resume))),
    }
}

/// Why a run is over, as its journal says.
fn reason(paths: &ProjectPaths, run: &RunId) -> Option<StopReason> {
    read_view(paths, run).ok()?.stop_reason().cloned()
}

/// Prints what the loop has printed where it had no terminal: what failed, and where to look.
fn print_output(paths: &ProjectPaths, run: &RunId) {
    match files::read_text(&paths.run(run).output(), OUTPUT_CAP_BYTES) {
        Ok(text) if !text.is_empty() => console::complain(&text),
        Ok(_) => {}
        Err(ReadError::System(error)) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => console::warn(&with_causes(&error)),
    }
}

/// The exit code of a process, as a shell has it.
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
