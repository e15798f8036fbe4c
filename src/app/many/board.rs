//! The board of a batch on this terminal. The batch runs in another process, or is over.

use std::{
    ffi::OsString,
    io,
    process::Command,
    sync::{Arc, mpsc},
    time::Duration,
};

use ralph_core::event::UserCommand;
use ralph_many::{BatchFollower, BatchPaths, FollowerThread, Site};
use ralph_plan::batch::{BatchId, PlanName};
use ralph_state::control::{self, ControlReply, ControlRequest};
use ralph_system::{
    files,
    proc::{LoopStart, Supervisor, own_executable},
};
use ralph_text::with_causes;
use ralph_ui::{
    board::Board,
    tui::{
        self, ScreenExit,
        board::{BatchControl, BoardNews, BoardSetup},
    },
};

use crate::{
    error::{Failure, FailureKind},
    ui::{ScreenOptions, front_end},
};

use super::super::{ProjectPlace, detached::exit_code};

/// Maximum size of a batch's output, which is a line for each event.
const OUTPUT_CAP_BYTES: u64 = 1 << 20;
/// Time the process of a batch has to exit after it has reported the end.
const ENDING: Duration = Duration::from_secs(10);

/// The state in which a board was left.
pub(crate) struct ClosedBoard {
    pub(crate) left: ScreenExit,
    /// The board as it was last shown.
    pub(crate) board: Board,
}

/// How a board is shown.
pub(crate) struct BoardOptions {
    pub(crate) screen: ScreenOptions,
    /// The command line that shows a run, without its plan.
    pub(crate) opening: Vec<OsString>,
    /// Whether the only run is opened once it has begun.
    pub(crate) opens_run: bool,
}

/// The result of starting a batch in its own process.
pub(crate) enum BatchBegan {
    /// The board was shown.
    Watched(Box<ClosedBoard>),
    /// The process ended with this exit code before the batch existed, and printed why.
    Ended(u8),
}

/// Starts a batch with `args` in its own process, and shows it on this terminal until it is over or the user leaves.
///
/// # Errors
/// A [`Failure`] if the process cannot be started or the batch cannot be shown.
pub(crate) fn run_batch_detached(
    place: &ProjectPlace,
    args: impl IntoIterator<Item = OsString>,
    options: BoardOptions,
    supervisor: &Supervisor,
) -> Result<BatchBegan, Failure> {
    let failed = |error: io::Error| {
        let what = format!("the batch cannot be started in a process of its own: {error}");
        Failure::new(FailureKind::Failed, what).hint("`ralph many --headless PLAN…` runs it in this one")
    };
    let mut detached = supervisor.start_detached(args).map_err(failed)?;
    let id = match detached.begin().map_err(failed)? {
        LoopStart::Ready { run } => BatchId(run),
        LoopStart::Ended(status) => return Ok(BatchBegan::Ended(exit_code(status))),
    };
    detached.attached();
    let site = super::site_of_batch(place, &id, false, supervisor)?;
    let watched = show(&site, &id, options, true)
        .map_err(|failure| failure.hint("the batch continues: `ralph many status` shows it"))?;
    if watched.board.is_over() {
        detached.wait(ENDING);
    }
    Ok(BatchBegan::Watched(Box::new(watched)))
}

/// Shows a batch on this terminal until the user leaves.
///
/// # Errors
/// A [`Failure`] if the batch cannot be read or shown.
pub(crate) fn watch_batch(site: &Site, id: &BatchId, options: BoardOptions) -> Result<ClosedBoard, Failure> {
    show(site, id, options, false)
}

/// The output of a batch's process without a terminal.
pub(crate) fn output_of_batch(paths: &BatchPaths) -> Option<String> {
    files::read_text(&paths.output(), OUTPUT_CAP_BYTES).ok()
}

/// Follows a batch of this project.
pub(crate) fn follow_batch(site: &Site, id: &BatchId) -> BatchFollower {
    let states = site.clone();
    let state_of = move |plan: &PlanName| ralph_many::job_state(&states, plan).ok();
    BatchFollower::new(BatchPaths::new(&site.project, id), Box::new(state_of))
}

fn show(site: &Site, id: &BatchId, options: BoardOptions, started: bool) -> Result<ClosedBoard, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::of(FailureKind::Failed, error).hint("`ralph many status` shows the status of each plan")
    };
    let paths = BatchPaths::new(&site.project, id);
    let mut follower = follow_batch(site, id);
    let first = follower.look().ok_or_else(|| {
        Failure::new(
            FailureKind::Failed,
            format!("{}: not the journal of a batch", paths.journal().display()),
        )
    })?;
    let (sender, news) = mpsc::channel();
    let boards = sender.clone();
    let told = move |board| _ = boards.send(BoardNews::Board(Box::new(board))); // the screen may be gone
    let _following = FollowerThread::start(follower, told).map_err(|error| failed(&error))?;
    let setup = BoardSetup {
        reach: Arc::new(BatchConnection {
            site: site.clone(),
            paths,
            opening: options.opening,
        }),
        theme: front_end::theme(options.screen),
        mouse: options.screen.mouse,
        opens_run: options.opens_run,
        started,
    };
    let _terminal = tui::terminal::TerminalGuard;
    let (left, board) = tui::board::run(setup, first, sender, news).map_err(|error| failed(&error))?;
    Ok(ClosedBoard { left, board })
}

/// The board's connection to its batch: requests are files, answers go to the runs directly.
struct BatchConnection {
    site: Site,
    paths: BatchPaths,
    /// The command line that shows a run, without its plan.
    opening: Vec<OsString>,
}

impl BatchControl for BatchConnection {
    fn cancel(&self, plan: &PlanName) -> Result<(), String> {
        let asked = ralph_many::ask_to_cancel(&self.paths, Some(plan));
        asked.map_err(|error| format!("the request cannot be sent to the batch: {error}"))
    }

    fn stop(&self) -> Result<(), String> {
        ralph_many::ask_to_stop(&self.paths)
            .map_err(|error| format!("the request cannot be sent to the batch: {error}"))
    }

    fn answer(&self, plan: &PlanName, command: UserCommand) -> Result<(), String> {
        let state = ralph_many::job_state(&self.site, plan)?;
        match control::ask(&state.socket(), &ControlRequest::Command { command }) {
            Ok(ControlReply::Refused { why } | ControlReply::Forbidden { why }) => Err(why),
            Ok(
                ControlReply::Done { .. }
                | ControlReply::Started { .. }
                | ControlReply::Status { .. }
                | ControlReply::Tool { .. },
            ) => Ok(()),
            Err(error) => Err(format!("the run does not answer: {}", with_causes(&error))),
        }
    }

    fn opening(&self, plan: &PlanName) -> Command {
        let mut command = Command::new(own_executable());
        command.args(&self.opening).args(["many", "attach", &plan.0]);
        command
    }
}
