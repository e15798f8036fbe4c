//! `ralph attach` and `ralph wait`: show the run of another process, or wait for its end.

use std::{path::Path, thread, time::Duration};

use ralph_core::event::{Event, RunEvent, RunId, StopReason};
use ralph_state::{
    control::{
        Address, ControlError,
        frames::{Frame, UiEvent},
        stream::{FrameReader, StreamPurpose},
    },
    store::{journal::read_view, lock},
};
use ralph_system::{files, paths::ProjectPaths, proc::Supervisor};
use ralph_text::{console::print, with_causes};
use ralph_words::stop_in_words;

use crate::{
    app::{self, FollowUpCommands},
    error::{Failure, FailureKind},
    ui::{
        Presentation, ScreenOptions,
        attached::{AttachError, greeted},
    },
};

use super::{
    args::Args,
    restore::which_run,
    run::{place, presentation, screen},
};

/// Bytes read from a token file; a token is one line.
const TOKEN_CAP_BYTES: u64 = 4096;
/// Interval between two checks of a run whose stream was lost.
const LOOK: Duration = Duration::from_millis(300);

pub(super) fn attach(args: &Args, run: Option<&str>, supervisor: &Supervisor) -> Result<u8, Failure> {
    attach_to(args, &place(args)?.paths, run, &FollowUpCommands::here(), supervisor)
}

/// As [`attach`], but for any project.
pub(super) fn attach_to(
    args: &Args,
    paths: &ProjectPaths,
    run: Option<&str>,
    commands: &FollowUpCommands,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let run = run.map(|run| which_run(paths, Some(run))).transpose()?;
    if let Some(over) = not_running(paths, run.as_ref())? {
        let id = &over.0;
        return Err(
            Failure::new(FailureKind::Failed, format!("run {id} is over")).hint(format!(
                "`ralph report {id}` summarizes it, `ralph replay {id}` plays it"
            )),
        );
    }
    let look = screen(args, &place(args)?);
    app::attach(paths, on_terminal(args, look)?, look, commands, supervisor)
}

/// Shows the run at `url`. `token` is the file with the token.
pub(super) fn attach_at(args: &Args, url: &str, token: Option<&Path>, supervisor: &Supervisor) -> Result<u8, Failure> {
    let token = match token {
        Some(path) => files::read_text(path, TOKEN_CAP_BYTES).map_err(|error| {
            let why = format!("{}: {}", path.display(), with_causes(&error));
            Failure::new(FailureKind::Usage, why)
                .hint("`ralph token` prints the token, on the machine of the run: write it to that file")
        })?,
        None => String::new(),
    };
    let address = Address::from_url(url, &token).map_err(|error| {
        Failure::of(FailureKind::Usage, &error).hint("ralph attach --url http://127.0.0.1:8080 --token-file FILE")
    })?;
    let look = screen(args, &place(args)?);
    app::attach_at(address, on_terminal(args, look)?, look, supervisor)
}

fn on_terminal(args: &Args, look: ScreenOptions) -> Result<Presentation, Failure> {
    let presentation = presentation(&args.show, look);
    match presentation.can_have_screen() {
        true => Ok(presentation),
        false => Err(Failure::new(FailureKind::Usage, "a screen needs a terminal")
            .hint("`ralph status` shows what the run is doing, `ralph wait` waits for its end")),
    }
}

pub(super) fn wait(args: &Args, run: Option<&str>) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let named = run.map(|run| which_run(&paths, Some(run))).transpose()?;
    let running = lock::running(&paths);
    let run = match not_running(&paths, named.as_ref())? {
        Some(over) => over,
        // The run may end before the connection is made; its journal has the end then.
        None => match await_end(&paths, named.or(running))? {
            (run, Some(code)) => {
                print(&said(&paths, &run));
                return Ok(code);
            }
            (run, None) => run,
        },
    };
    match reason(&paths, &run) {
        Some(reason) => {
            print(&said(&paths, &run));
            Ok(reason.exit_code())
        }
        None => Err(
            Failure::new(FailureKind::Failed, format!("run {} was interrupted", run.0))
                .hint("`ralph continue` resumes it"),
        ),
    }
}

/// Returns the requested run if no loop works on it, and `None` if one does.
///
/// # Errors
/// A [`Failure`] if no run is named and no loop is running.
fn not_running(paths: &ProjectPaths, named: Option<&RunId>) -> Result<Option<RunId>, Failure> {
    let running = lock::running(paths);
    match (named, running) {
        (Some(named), Some(running)) if *named == running => Ok(None),
        (Some(named), _) => Ok(Some(named.clone())),
        (None, Some(_)) => Ok(None),
        (None, None) if lock::is_held(paths) => Ok(None),
        (None, None) => Err(ControlError::NotRunning.into()),
    }
}

/// Waits for the end of the project's current run (`run`, if known). Returns its id, and its exit code if its process
/// has reported one.
fn await_end(paths: &ProjectPaths, mut run: Option<RunId>) -> Result<(RunId, Option<u8>), Failure> {
    loop {
        match followed(paths) {
            Ok((of, Some(exit))) => return Ok((of, exit)),
            Ok((of, None)) => run = Some(of),
            Err(AttachError::Control(ControlError::NotRunning)) => {}
            Err(error) if run.is_none() => return Err(error.into()),
            Err(_) => {}
        }
        // The end of a stream is not the end of the loop: the process that holds the lock is still at work.
        let at_work = lock::running(paths);
        if at_work.is_none() || run.is_some() && run != at_work {
            let of = run.map(|run| (run, None));
            return of.ok_or_else(|| ControlError::NotRunning.into());
        }
        run = at_work;
        thread::sleep(LOOK);
    }
}

/// Follows the project's current run until it is over or its stream ends. Returns the run, and its exit code if that is
/// known.
/// Does not wait for a process that only still shows the end of the run.
fn followed(paths: &ProjectPaths) -> Result<(RunId, Option<Option<u8>>), AttachError> {
    let (hello, mut frames) = greeted(FrameReader::open(
        &Address::Socket(paths.socket()),
        StreamPurpose::Records,
        None,
    )?)?;
    // The stream begins after the records that are already in the journal.
    if let Some(reason) = reason(paths, &hello.run) {
        return Ok((hello.run, Some(Some(reason.exit_code()))));
    }
    loop {
        match frames.next_frame() {
            Ok(Some(Frame::End { exit_code })) => return Ok((hello.run, Some(exit_code))),
            Ok(Some(Frame::Event(UiEvent::Record(record)))) => {
                if let Event::Run(RunEvent::Stopped { reason, .. }) = &record.event {
                    return Ok((hello.run, Some(Some(reason.exit_code()))));
                }
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Ok((hello.run, None)),
        }
    }
}

fn reason(paths: &ProjectPaths, run: &RunId) -> Option<StopReason> {
    read_view(paths, run).ok()?.stop_reason().cloned()
}

fn said(paths: &ProjectPaths, run: &RunId) -> String {
    match reason(paths, run) {
        Some(reason) => format!("run {} is over: {}\n", run.0, stop_in_words(&reason)),
        None => format!("run {} is over\n", run.0),
    }
}
