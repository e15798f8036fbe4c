//! The screen of a batch: its frame loop.
//!
//! A run is opened in another ralph process, to which the terminal is lent as it is to an editor. So it has the same
//! screen as `ralph attach`, and a failure there does not break the board.

use std::{
    io::{self, Write},
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
use ratatui::layout::Rect;

use crate::board::Board;

use super::{
    ScreenError, ScreenExit,
    frame_loop::utc_offset_s,
    inputs::{Mailbox, ScreenInput},
    model::BoardModel,
    order::{BoardOrder, ScreenEvent},
    screen_terminal::{FrameBytes, FrameTerminal, ScreenTerminal, draw_frame, frame_terminal},
    spawn::spawn_or_run,
    terminal,
    terminal_ownership::{StopsGroup, TerminalOwnership, run_in_foreground},
    theme::Theme,
    update::{take_board, update_board},
    view,
};

/// Minimum time between two frames.
const FRAME: Duration = Duration::from_millis(33);
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
    let ScreenTerminal {
        mailbox,
        arrivals,
        size,
        first_frame,
        ownership,
    } = ScreenTerminal::take(wake, &setup.theme, setup.mouse)?;
    let mut model = BoardModel::new(first, size, now_ms());
    model.mouse = setup.mouse;
    model.utc_offset_s = utc_offset_s();
    let frame = FrameBytes::default();
    let shown = frame_terminal(&frame, size).map_err(ScreenError::Terminal)?;
    let result = BoardLoop {
        setup,
        model,
        sender,
        news,
        mailbox,
        arrivals,
        terminal: shown,
        frame,
        ownership,
        away: false,
        dirty: true,
        due: first_frame,
        title: String::new(),
        signalled: None,
    }
    .run();
    terminal::give_back();
    result.map_err(ScreenError::Terminal)
}

struct BoardLoop {
    setup: BoardSetup,
    model: BoardModel,
    sender: Sender<BoardNews>,
    news: Receiver<BoardNews>,
    mailbox: Mailbox,
    arrivals: Receiver<ScreenInput>,
    terminal: FrameTerminal,
    frame: FrameBytes,
    ownership: TerminalOwnership,
    /// Whether another ralph has the terminal.
    away: bool,
    dirty: bool,
    /// The earliest time of the next frame.
    due: Instant,
    title: String,
    /// The signal that stopped the batch, if any; the board then closes at the end without waiting for the user.
    signalled: Option<RequestedBy>,
}

impl BoardLoop {
    fn run(mut self) -> io::Result<(ScreenExit, Board)> {
        loop {
            if let Some(left) = self.turn()? {
                return Ok((left, self.model.board));
            }
        }
    }

    fn turn(&mut self) -> io::Result<Option<ScreenExit>> {
        if self.dirty && !self.away && self.due <= Instant::now() {
            self.draw()?;
        }
        let wait = match (self.dirty, self.away) {
            (true, false) => self.due.saturating_duration_since(Instant::now()),
            (_, _) => TICK,
        };
        match self.news.recv_timeout(wait) {
            Ok(BoardNews::Board(board)) => {
                take_board(&mut self.model, *board);
                self.dirty = true;
                self.open_first();
                if let Some(by) = self.signalled.filter(|_| self.model.board.is_over()) {
                    return Ok(Some(ScreenExit::Signalled(by)));
                }
            }
            Ok(BoardNews::Refused(why)) => self.tell(Tone::Bad, &why),
            Ok(BoardNews::Mail) => {
                while let Ok(arrived) = self.arrivals.try_recv() {
                    if let Some(left) = self.take(arrived)? {
                        return Ok(Some(left));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => self.dirty = true,
            // Cannot happen: `self` holds a sender.
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(ScreenExit::Over)),
        }
        Ok(None)
    }

    fn take(&mut self, arrived: ScreenInput) -> io::Result<Option<ScreenExit>> {
        match arrived {
            // Typed ahead, and meant for the program that has the terminal now.
            ScreenInput::Ui(ScreenEvent::Input(input)) if self.away && !matches!(input, Input::Resize(..)) => {}
            ScreenInput::Ui(ScreenEvent::Input(input)) => {
                self.model.advance(now_ms());
                self.dirty = true;
                self.setup.opens_run &= matches!(input, Input::Resize(..));
                for order in update_board(&mut self.model, input) {
                    if let Some(left) = self.obey(order)? {
                        return Ok(Some(left));
                    }
                }
            }
            ScreenInput::Background(found) => {
                if let Some(background) = found {
                    self.setup.theme = self.setup.theme.on(background);
                }
                (self.due, self.dirty) = (Instant::now(), true);
            }
            ScreenInput::Returned(failure) => {
                terminal::take(self.setup.mouse)?;
                self.ownership.take_back();
                self.away = false;
                if let Some(why) = failure {
                    self.tell(Tone::Bad, &why);
                }
                self.redraw()?;
            }
            ScreenInput::Stop | ScreenInput::Continued if self.away => {}
            ScreenInput::Stop => self.suspend()?,
            ScreenInput::Continued => {
                terminal::take(self.setup.mouse)?;
                self.redraw()?;
            }
            ScreenInput::End(by) => return self.signal(by),
            // The board shows no run.
            ScreenInput::Ui(_) | ScreenInput::Recording { .. } | ScreenInput::Unfolded { .. } => {}
        }
        Ok(None)
    }

    /// Opens the run of the first plan if that is wanted and the run has begun.
    fn open_first(&mut self) {
        let first = self.model.board.plans.first();
        if let Some(plan) = first.filter(|plan| plan.live).map(|plan| plan.plan.clone())
            && std::mem::take(&mut self.setup.opens_run)
        {
            self.open(&plan);
        }
    }

    fn obey(&mut self, order: BoardOrder) -> io::Result<Option<ScreenExit>> {
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
            BoardOrder::Redraw => self.redraw()?,
            BoardOrder::Suspend => self.suspend()?,
            BoardOrder::Detach => return Ok(Some(ScreenExit::Detached)),
            BoardOrder::Leave => return Ok(Some(ScreenExit::Seen)),
        }
        Ok(None)
    }

    /// A terminating signal in the process that started the batch stops the batch; the board waits for its end.
    fn signal(&mut self, by: RequestedBy) -> io::Result<Option<ScreenExit>> {
        let is_meant = match by {
            RequestedBy::Interrupt | RequestedBy::Terminate => self.setup.started && !self.model.board.is_over(),
            RequestedBy::Hangup | RequestedBy::User => false,
        };
        if !is_meant {
            return Ok(Some(ScreenExit::Signalled(by)));
        }
        self.signalled = Some(by);
        self.obey(BoardOrder::Stop)
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
        terminal::give_back();
        self.away = true;
        let command = self.setup.reach.opening(plan);
        let (ownership, mailbox) = (self.ownership.clone(), self.mailbox.clone());
        spawn_or_run(move || {
            let returned = ScreenInput::Returned(show(command, &ownership, &|| mailbox.stop_group()).err());
            _ = mailbox.send(returned); // if the board is gone, the terminal has been given back
        });
    }

    fn suspend(&mut self) -> io::Result<()> {
        terminal::give_back();
        self.mailbox.stop_group()?;
        terminal::take(self.setup.mouse)?;
        self.redraw()
    }

    fn redraw(&mut self) -> io::Result<()> {
        let (cols, rows) = crossterm::terminal::size()?;
        update_board(&mut self.model, Input::Resize(cols, rows));
        self.terminal.resize(Rect::new(0, 0, cols, rows))?;
        self.title.clear();
        self.dirty = true;
        Ok(())
    }

    fn tell(&mut self, tone: Tone, what: &str) {
        self.model.advance(now_ms());
        self.model.toast(tone, sanitized(what));
        self.dirty = true;
    }

    fn draw(&mut self) -> io::Result<()> {
        self.model.advance(now_ms());
        let title = window_title(&self.model);
        let title = self.setup.theme.spelled(&title).into_owned();
        if title != self.title {
            write!(self.frame, "\x1b]2;{title}\x07")?;
            self.title = title;
        }
        let (model, theme) = (&self.model, &self.setup.theme);
        draw_frame(&mut self.terminal, (model.cols, model.rows), |frame| {
            view::draw_board(model, theme, frame);
        })?;
        let bytes = self.frame.take();
        let bytes = self.setup.theme.encoded(bytes);
        self.due = Instant::now() + FRAME;
        self.dirty = false;
        terminal::write_all(&bytes)
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
fn show(mut command: Command, ownership: &TerminalOwnership, stop: StopsGroup<'_>) -> Result<(), String> {
    ownership
        .stop_key_reader()
        .map_err(|error| format!("the terminal cannot be handed over: {error}"))?;
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
