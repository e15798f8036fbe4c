//! The board of a batch on this terminal.

use std::ffi::OsString;

use clap::ValueEnum;
use ralph_plan::batch::BatchId;
use ralph_system::proc::Supervisor;

use super::super::{
    args::Args,
    run::{behind_screen, presentation, screen},
};
use crate::{
    app::{
        self, ProjectPlace,
        many::{BatchBegan, BoardOptions, ClosedBoard},
    },
    error::{Failure, FailureKind},
    ui::ScreenOptions,
};

/// Runs the command line `given` in a process of its own, and shows the batch until it is over or the user leaves.
pub(super) fn run(
    args: &Args,
    place: &ProjectPlace,
    screen: ScreenOptions,
    given: &[OsString],
    supervisor: &Supervisor,
) -> Result<BatchBegan, Failure> {
    let options = BoardOptions {
        screen,
        opening: opening(args),
        // A run in a tree of its own is a batch of one.
        opens_run: args.tree.is_some(),
    };
    app::many::run_batch_detached(place, behind_screen(given), options, supervisor)
}

/// Shows an existing batch.
pub(super) fn attach(
    args: &Args,
    place: &ProjectPlace,
    id: &BatchId,
    supervisor: &Supervisor,
) -> Result<ClosedBoard, Failure> {
    let Some(screen) = presentation(&args.show, screen(args, place)).screen else {
        return Err(Failure::new(FailureKind::Usage, "a board needs a terminal")
            .hint("`ralph many status` shows the status of each plan"));
    };
    let site = app::many::site_of_batch(place, id, false, supervisor)?;
    let options = BoardOptions {
        screen,
        opening: opening(args),
        opens_run: false,
    };
    app::many::watch_batch(&site, id, options)
}

/// The options of this command line that a ralph started to show a run needs as well.
fn opening(args: &Args) -> Vec<OsString> {
    let mut given: Vec<OsString> = Vec::new();
    let theme = args.theme.and_then(|theme| theme.to_possible_value());
    if let Some(theme) = theme {
        given.extend(["--theme".into(), theme.get_name().into()]);
    }
    given.extend(args.ascii.then(|| "--ascii".into()));
    given.extend(args.no_mouse.then(|| "--no-mouse".into()));
    if let Some(state_dir) = &args.state_dir {
        given.extend(["--state-dir".into(), state_dir.into()]);
    }
    if let Some(config) = &args.config {
        given.extend(["--config".into(), config.into()]);
    }
    given
}
