//! The loop, as the command line asks for it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    app::{self, Place},
    config::{self, Sources},
    diagnostics::{Diagnostics, Filter},
    error::{Failure, FailureKind},
    proc::{Starter, Supervisor},
    ui::{Presentation, ScreenOptions, headless::Format},
};

use super::{
    args::{Args, FormatArg, ShowFlags},
    trust,
};

/// Runs the loop that the command line `given` asks for: in a process of its own if there is a screen for it.
pub(super) fn run(args: &Args, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    let starter =
        match args.behind_screen {
            true => Some(Starter::leave_session().map_err(|error| {
                Failure::of(FailureKind::Usage, &error).hint("`ralph` starts the loop and its screen")
            })?),
            false => None,
        };
    // What there is to ask is asked here, where somebody answers.
    let place = trust::place_to_run(args)?;
    let presentation = presentation(args, &args.show);
    if presentation.screen.is_some() && starter.is_none() && !args.show.foreground {
        let again = [OsString::from("--__loop")]
            .into_iter()
            .chain(given[1..].iter().cloned());
        return app::run_detached(&place, presentation, screen(args), again, supervisor);
    }
    let loaded = config::load(&sources(args, &place))?;
    app::run(
        &place,
        &loaded,
        presentation,
        &diagnostics(&args.show, presentation),
        supervisor,
        starter.as_ref(),
    )
}

/// The log of a run, as far as the command line says. On a screen, its lines would be in the way.
pub(super) fn diagnostics(show: &ShowFlags, presentation: Presentation) -> Diagnostics {
    let filter = match (&show.log, show.verbose) {
        (Some(filter), _) => filter.clone(),
        (None, true) => Filter::verbose(),
        (None, false) => Filter::default(),
    };
    Diagnostics::new(&filter, show.verbose && presentation.screen.is_none())
}

pub(super) fn presentation(args: &Args, show: &ShowFlags) -> Presentation {
    let presentation = Presentation::of_stdout(match show.format {
        FormatArg::Text => Format::Text,
        FormatArg::Jsonl => Format::Jsonl,
    });
    if show.headless {
        return presentation;
    }
    presentation.on_screen(screen(args))
}

/// How the screen is to be, as far as the command line says.
pub(super) fn screen(args: &Args) -> ScreenOptions {
    ScreenOptions {
        palette: args.theme.map(Into::into),
        ascii: args.ascii,
        mouse: !args.no_mouse,
    }
}

pub(super) fn place(args: &Args) -> Result<Place, Failure> {
    Place::current(args.state_dir.as_deref())
}

/// All places settings come from, this command line among them; the project's file as far as `place` has it.
pub(super) fn sources(args: &Args, place: &Place) -> Sources {
    let mut sources = Sources::of_project(place.own.config.clone());
    sources.extra = args.config.as_deref().map(absolute);
    sources.flags.clone_from(&args.settings.given);
    sources
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
