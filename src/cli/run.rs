//! `ralph` without a command: runs the loop.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ralph_driver::RunChoice;
use ralph_state::store::chosen;
use ralph_system::{
    diagnostics::{Diagnostics, Filter},
    proc::{Starter, Supervisor, replace_process},
};
use ralph_text::console::complain;
use ralph_ui::tui::looks::Looks;

use crate::{
    app::{self, DetachedEnd, ProjectPlace},
    config::{self, SettingSources},
    error::{Failure, FailureKind},
    ui::{Presentation, ScreenOptions, headless::OutputFormat, looks_file},
};

use super::{
    args::{Args, FormatArg, ShowFlags},
    choice, trust,
};

/// Runs the loop for the command line `given`; in a process of its own if it has a screen.
pub(super) fn run(args: &Args, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    let starter = starter(args)?;
    // Questions are asked here, in the process that the user can answer.
    let place = trust::place_to_run(args)?;
    // A starter with a screen has done this already; one without has started this process to do everything.
    if starter.is_none() || args.show.headless {
        if let Some(why) = nothing_to_do(args, &place) {
            complain(&why);
            return Ok(0);
        }
        choice::ask_once(&sources(args, &place), &place)?;
    }
    let look = screen(args, &place);
    let presentation = presentation(&args.show, look);
    // A screen reaches a loop in another process by what serves the run.
    let is_reached = cfg!(feature = "page");
    if presentation.screen.is_some() && starter.is_none() && !args.show.foreground && is_reached {
        return match app::run_detached(&place, presentation, look, behind_screen(given), supervisor)? {
            DetachedEnd::Ended(code) => Ok(code),
            // In this process, the threads of the old screen would take the keys of the new one.
            DetachedEnd::Continued(option) => {
                let error = replace_process(continuing(args, option), []);
                Err(Failure::of(FailureKind::Failed, &error).hint("ralph continue"))
            }
        };
    }
    let mut loaded = config::load(&sources(args, &place))?;
    app::leave_unguarded(&mut loaded.config, &args.in_conflict);
    app::run(
        &place,
        &loaded,
        presentation,
        &diagnostics(&args.show, presentation),
        supervisor,
        starter.as_ref(),
        match args.continues {
            true => RunChoice::Continued,
            false => RunChoice::AsFound,
        },
    )
}

/// Returns a message instead of a new run if the plan is finished.
fn nothing_to_do(args: &Args, place: &ProjectPlace) -> Option<String> {
    let loaded = config::load(&sources(args, place)).ok()?;
    app::nothing_to_do(place, &loaded.config).filter(|_| !args.continues)
}

/// The process that started this one to work behind its screen, if any.
pub(super) fn starter(args: &Args) -> Result<Option<Starter>, Failure> {
    let leave = || {
        Starter::leave_session()
            .map_err(|error| Failure::of(FailureKind::Usage, &error).hint("`ralph` starts the loop and its screen"))
    };
    args.behind_screen.then(leave).transpose()
}

/// The command line that runs `given` behind a screen.
pub(super) fn behind_screen(given: &[OsString]) -> impl Iterator<Item = OsString> {
    [OsString::from("--__loop")]
        .into_iter()
        .chain(given[1..].iter().cloned())
}

/// The command line that continues the run of this one, with `option`.
fn continuing(args: &Args, option: [String; 2]) -> Vec<OsString> {
    let mut line = vec![OsString::from("continue")];
    line.extend(option.map(OsString::from));
    let directory = args.state_dir.iter().map(|path| ("--state-dir", path));
    for (flag, path) in directory.chain(args.config.iter().map(|path| ("--config", path))) {
        line.extend([OsString::from(flag), path.clone().into_os_string()]);
    }
    line.extend(args.trust_project.then(|| OsString::from("--trust-project")));
    line
}

/// The log of a run, as requested on the command line. Not on stderr with a screen, which it would disturb.
pub(super) fn diagnostics(show: &ShowFlags, presentation: Presentation) -> Diagnostics {
    let filter = match (&show.log, show.verbose) {
        (Some(filter), _) => filter.clone(),
        (None, true) => Filter::verbose(),
        (None, false) => Filter::default(),
    };
    Diagnostics::new(&filter, show.verbose && presentation.screen.is_none())
}

pub(super) fn presentation(show: &ShowFlags, screen: ScreenOptions) -> Presentation {
    let presentation = Presentation::for_stdout(match show.format {
        FormatArg::Text => OutputFormat::Text,
        FormatArg::Jsonl => OutputFormat::Jsonl,
    });
    let presentation = presentation.suiting(screen);
    if show.headless {
        return presentation;
    }
    presentation.on_screen(screen)
}

/// The screen options of the settings. With a mistake in the settings, only the command line counts: the loop reports
/// the mistake.
pub(super) fn screen(args: &Args, place: &ProjectPlace) -> ScreenOptions {
    let flags = || SettingSources {
        flags: args.screen_flags(),
        ..SettingSources::default()
    };
    let loaded = config::load(&sources(args, place)).or_else(|_| config::load(&flags()));
    let config = loaded.map(|loaded| loaded.config).unwrap_or_default();
    let chosen = ScreenOptions {
        ascii: args.ascii.then_some(true),
        mouse: !args.no_mouse,
        ..ScreenOptions::from(&config.screen)
    };
    chosen.with_looks(Looks::read(&looks_file(&place.paths)))
}

pub(super) fn place(args: &Args) -> Result<ProjectPlace, Failure> {
    ProjectPlace::current(args.state_dir.as_deref())
}

/// All sources of settings, including this command line. The project's file counts as far as `place` has it.
pub(super) fn sources(args: &Args, place: &ProjectPlace) -> SettingSources {
    let mut sources = SettingSources::for_project(place.own.config.clone());
    sources.remembered = Some(chosen::file(&place.paths));
    sources.extra = args.config.as_deref().map(absolute);
    sources.flags = [&args.settings.given[..], &args.screen_flags()].concat();
    sources
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
