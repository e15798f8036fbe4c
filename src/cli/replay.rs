//! `ralph replay`: plays a past run on the screen.

use ralph_core::event::RunId;
use ralph_state::store::journal;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};

use crate::{
    app::ProjectPlace,
    error::{Failure, FailureKind},
    ui::front_end,
};

use super::{
    args::Args,
    restore::{included, which_run},
    run::{place, presentation, screen},
};

pub(super) fn run(args: &Args, run: Option<&str>, speed: f64, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    replay(args, &place, &place.paths, &run, speed, supervisor)
}

/// Plays a run of `paths`, which may belong to another project than `place`.
pub(super) fn replay(
    args: &Args,
    place: &ProjectPlace,
    paths: &ProjectPaths,
    run: &RunId,
    speed: f64,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let look = screen(args, place);
    if !presentation(&args.show, look).can_have_screen() {
        let recordings = paths.run(run).dir().join("iterations");
        return Err(
            Failure::new(FailureKind::Usage, "a replay needs a terminal").hint(format!(
                "the recordings are in {}: `asciinema play` also shows them",
                recordings.display()
            )),
        );
    }
    if !(speed.is_finite() && speed > 0.0) {
        return Err(Failure::new(FailureKind::Usage, "`--speed` takes a number above 0"));
    }
    let records = journal::read(&paths.run(run).journal())?.0;
    // The settings are those of the project, which another run may not belong to.
    let include = match paths.project() == place.paths.project() {
        true => included(args),
        false => Vec::new(),
    };
    front_end::replay(paths, run, records, include, look, speed, supervisor)
        .map_err(|error| Failure::of(FailureKind::Failed, &error))?;
    Ok(0)
}
