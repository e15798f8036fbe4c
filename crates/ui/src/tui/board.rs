//! The screen of a batch: takes its news into the model, and carries out the model's orders.
//!
//! A run is opened in another ralph process, to which the terminal is lent as it is to an editor. So it has the same
//! screen as `ralph attach`, and a failure there does not break the board.

use std::{
    io,
    process::Command,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use crossterm::event::Event as Input;
use ralph_core::event::{RequestedBy, UserCommand};
use ralph_plan::batch::PlanName;
use ralph_system::{files, os::now_ms};
use ralph_text::{one_line, sanitized};
use ralph_words::Tone;

use crate::board::Board;

use super::{
    ScreenError, ScreenExit,
    model::BoardModel,
    order::{BoardOrder, ScreenEvent},
    run_screen::utc_offset_s,
    screen_loop::{self, FrameStep, LoopScreen, SourceState, receive},
    screen_terminal::ScreenTerminal,
    spawn::spawn_or_run,
    terminal,
    terminal_ownership::{StopsGroup, run_in_foreground},
    theme::Theme,
    update::{take_board, update_board},
    view,
};

/// Redraw interval for running clocks.
const TICK: Duration = Duration::from_secs(1);
/// Size limit of the error output of a ralph that could not show a run.
const COMPLAINT_CAP_BYTES: u64 = 4096;

/// Operations of a board on its batch, callable from any thread.
pub trait BatchControl: Send + Sync {
    /// Cancels a plan.
    ///
    /// # Errors
    /// The reason, in words.
    fn cancel(&self, plan: &PlanName) -> Result<(), String>;

    /// Asks all runs to stop; a second call stops them at once.
    ///
    /// # Errors
    /// The reason, in words.
    fn stop(&self) -> Result<(), String>;

    /// Answers a question of a plan's agent. May block.
    ///
    /// # Errors
    /// The run's reason for the refusal, in words.
    fn answer(&self, plan: &PlanName, command: UserCommand) -> Result<(), String>;

    /// The command that shows a plan's run on this terminal.
    fn opening(&self, plan: &PlanName) -> Command;
}

/// The settings of a board.
pub struct BoardSetup {
    pub reach: Arc<dyn BatchControl>,
    pub theme: Theme,
    pub mouse: bool,
    /// Whether the run of the first plan is opened once it has begun, unless a key is pressed before.
    pub opens_run: bool,
    /// Whether this process has started the batch: then terminating signals stop the batch.
    pub started: bool,
}

/// News for a board from other threads.
pub enum BoardNews {
    Board(Box<Board>),
    /// A request was refused.
    Refused(String),
    /// Mail has arrived in the mailbox.
    Mail,
}

/// Shows a batch until its user leaves. Returns the reason and the last state of the board.
///
/// # Errors
/// [`ScreenError`] if the terminal cannot be used.
pub fn run(
    setup: BoardSetup,
    first: Board,
    sender: Sender<BoardNews>,
    news: Receiver<BoardNews>,
) -> Result<(ScreenExit, Board), ScreenError> {
    let wake = sender.clone();
    let wake = Box::new(move || _ = wake.send(BoardNews::Mail));
    let taken = ScreenTerminal::take(wake, setup.theme, setup.mouse)?;
    let mut model = BoardModel::new(first, taken.size, now_ms());
    model.mouse = setup.mouse;
    model.utc_offset_s = utc_offset_s();
    let mut screen = BoardScreen {
        setup,
        model,
        sender,
        news,
        terminal: taken,
        signalled: None,
    };
    let left = screen_loop::run(&mut screen);
    terminal::give_back();
    Ok((left.map_err(ScreenError::Terminal)?, screen.model.board))
}

struct BoardScreen {
    setup: BoardSetup,
    model: BoardModel,
    sender: Sender<BoardNews>,
    news: Receiver<BoardNews>,
    terminal: ScreenTerminal,
    /// The signal that stopped the batch, if any; the board then closes at the end without waiting for the user.
    signalled: Option<RequestedBy>,
}

impl LoopScreen for BoardScreen {
    fn terminal(&mut self) -> &mut ScreenTerminal {
        &mut self.terminal
    }

    fn source(&self) -> SourceState {
        SourceState::Open
    }

    fn poll(&mut self, deadline: Option<Instant>) -> io::Result<FrameStep> {
        match receive(&self.news, deadline) {
            Ok(BoardNews::Board(board)) => {
                take_board(&mut self.model, *board);
                self.terminal.dirty = true;
                self.open_first();
                if let Some(by) = self.signalled.filter(|_| self.model.board.is_over()) {
                    return Ok(FrameStep::Leave(ScreenExit::Signalled(by)));
                }
            }
            Ok(BoardNews::Refused(why)) => self.tell(Tone::Bad, &why),
            Ok(BoardNews::Mail) => {}
            Err(RecvTimeoutError::Timeout) => self.pass_time(),
            // Cannot happen: `self` holds a sender.
            Err(RecvTimeoutError::Disconnected) => return Ok(FrameStep::Leave(ScreenExit::Over)),
        }
        Ok(FrameStep::Next)
    }

    fn next_tick(&mut self) -> Option<Instant> {
        Some(self.terminal.drawn() + TICK)
    }

    fn pass_time(&mut self) {
        self.terminal.ticked = true;
    }

    fn apply(&mut self, event: ScreenEvent) -> io::Result<FrameStep> {
        let ScreenEvent::Input(input) = event else {
            // The result of a job of a run's screen.
            return Ok(FrameStep::Next);
        };
        self.model.advance(now_ms());
        self.terminal.dirty = true;
        self.setup.opens_run &= matches!(input, Input::Resize(..));
        let mut step = FrameStep::Next;
        for order in update_board(&mut self.model, input) {
            match self.obey(order) {
                FrameStep::Next => {}
                FrameStep::Leave(left) => return Ok(FrameStep::Leave(left)),
                other @ (FrameStep::Redraw | FrameStep::Suspend) => step = other,
            }
        }
        Ok(step)
    }

    /// A terminating signal in the process that started the batch stops the batch; the board waits for its end.
    fn signalled(&mut self, by: RequestedBy) -> io::Result<FrameStep> {
        let is_meant = match by {
            RequestedBy::Interrupt | RequestedBy::Terminate => self.setup.started && !self.model.board.is_over(),
            RequestedBy::Hangup | RequestedBy::User => false,
        };
        if !is_meant {
            return Ok(FrameStep::Leave(ScreenExit::Signalled(by)));
        }
        self.signalled = Some(by);
        Ok(self.obey(BoardOrder::Stop))
    }

    fn returned(&mut self, failure: Option<String>) {
        if let Some(why) = failure {
            self.tell(Tone::Bad, &why);
        }
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        update_board(&mut self.model, Input::Resize(cols, rows));
    }

    fn draw(&mut self) -> io::Result<()> {
        self.model.advance(now_ms());
        let (model, title) = (&self.model, window_title(&self.model));
        self.terminal.draw(&title, (model.cols, model.rows), |theme, frame| {
            view::draw_board(model, theme, frame);
        })
    }
}

impl BoardScreen {
    /// Opens the run of the first plan if that is wanted and the run has begun.
    fn open_first(&mut self) {
        let first = self.model.board.plans.first();
        if let Some(plan) = first.filter(|plan| plan.live).map(|plan| plan.plan.clone())
            && std::mem::take(&mut self.setup.opens_run)
        {
            self.open(&plan);
        }
    }

    fn obey(&mut self, order: BoardOrder) -> FrameStep {
        match order {
            BoardOrder::Open(plan) => self.open(&plan),
            BoardOrder::Cancel(plan) => match self.setup.reach.cancel(&plan) {
                Ok(()) => self.tell(Tone::Wait, &format!("{plan}: cancelling")),
                Err(why) => self.tell(Tone::Bad, &why),
            },
            BoardOrder::Stop => match (self.setup.reach.stop(), self.model.board.stopping) {
                (Ok(()), false) => self.tell(
                    Tone::Wait,
                    "stopping: ending the runs; they can be resumed · Ctrl-C forces it",
                ),
                (Ok(()), true) => self.tell(Tone::Wait, "stopping at once"),
                (Err(why), _) => self.tell(Tone::Bad, &why),
            },
            BoardOrder::Answer { plan, command } => self.answer(plan, command),
            BoardOrder::Redraw => return FrameStep::Redraw,
            BoardOrder::Suspend => return FrameStep::Suspend,
            BoardOrder::Detach => return FrameStep::Leave(ScreenExit::Detached),
            BoardOrder::Leave => return FrameStep::Leave(ScreenExit::Seen),
        }
        FrameStep::Next
    }

    fn answer(&mut self, plan: PlanName, command: UserCommand) {
        let (reach, sender) = (Arc::clone(&self.setup.reach), self.sender.clone());
        // The run may take a while to respond.
        spawn_or_run(move || {
            if let Err(why) = reach.answer(&plan, command) {
                _ = sender.send(BoardNews::Refused(format!("{plan}: {why}"))); // the board may be gone
            }
        });
    }

    /// Lends the terminal to a ralph that shows a plan's run.
    fn open(&mut self, plan: &PlanName) {
        let command = self.setup.reach.opening(plan);
        self.terminal.lend(move |stop| show(command, stop));
    }

    fn tell(&mut self, tone: Tone, what: &str) {
        self.model.advance(now_ms());
        self.model.toast(tone, sanitized(what));
        self.terminal.dirty = true;
    }
}

/// The title of the terminal window.
fn window_title(model: &BoardModel) -> String {
    let board = &model.board;
    let asks = match board.asks.len() {
        0 => String::new(),
        count => format!(" · {count} asking"),
    };
    one_line(&format!(
        "ralph many {}/{} merged{asks}",
        board.counts.merged,
        board.plans.len()
    ))
}

/// Runs a ralph in the foreground. The error is its own message, if it could not show the run.
fn show(mut command: Command, stop: StopsGroup<'_>) -> Result<(), String> {
    let said = tempfile::NamedTempFile::new().map_err(|error| format!("no temporary file: {error}"))?;
    let stderr = said.reopen().map_err(|error| format!("no temporary file: {error}"))?;
    let status =
        run_in_foreground(command.stderr(stderr), stop).map_err(|error| format!("ralph cannot be started: {error}"))?;
    // A run that failed also gives a non-zero exit code, so only an `error:` line counts as a failure to show it.
    let text = files::read_text(said.path(), COMPLAINT_CAP_BYTES).unwrap_or_default();
    let complaint = text.lines().find_map(|line| line.strip_prefix("error: "));
    match complaint.filter(|_| !status.success()) {
        Some(complaint) => Err(complaint.to_owned()),
        None => Ok(()),
    }
}
