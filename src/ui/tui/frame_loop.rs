//! The frame loop.

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    rc::Rc,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{Event as Input, KeyCode};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ratatui::{Terminal, backend::CrosstermBackend, layout::Rect};
use thiserror::Error;

use crate::{
    driver::{Poll, UiEvent},
    event::{Event, Record, RequestedBy},
    proc::{Size, screen::Screen},
    text::sanitized,
    words::Tone,
};

use super::{
    AfterSignal, DiffRequest, Setup, cast,
    editor::Recall,
    find,
    inputs::{self, Arrived, Mailbox},
    model::{DiffState, Model, Pane, PlaybackState},
    notify::{self, Notifier},
    screens::{LiveScreen, SCROLLBACK_ROWS},
    source::Source,
    terminal, typing,
    update::{Order, ScreenEvent, Scroll, show_question, update},
    view::{self, Screens},
};

/// Shortest time between two frames; after a key, which somebody waits for, a shorter one.
const FRAME: Duration = Duration::from_millis(33);
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Output that is processed between two looks at the keys.
const SLICE_BYTES: usize = 16 * 1024;

#[derive(Debug, Error)]
pub enum ScreenError {
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    #[error("keys and signals cannot be received")]
    Inputs(#[source] io::Error),
}

/// Why a screen is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing more comes.
    Over,
    /// Its user has seen the end.
    Seen,
    /// Its user left a run that goes on.
    Detached,
    Signalled(RequestedBy),
}

/// Shows a run until it is over and the user has seen it, or until the user leaves; tells which.
///
/// Takes the terminal, and gives it back unless it panics: that is for whoever called.
///
/// # Errors
/// [`ScreenError`] if there is no terminal to show it on; later failures end the show only.
pub fn run(setup: Setup, source: &mut dyn Source) -> Result<Left, ScreenError> {
    let (mailbox, arrivals) = Mailbox::new(source.waker());
    let (cols, rows) = crossterm::terminal::size().map_err(ScreenError::Terminal)?;
    inputs::watch_signals(mailbox.clone()).map_err(ScreenError::Inputs)?;
    terminal::take(setup.mouse).map_err(ScreenError::Terminal)?;
    inputs::read_keys(mailbox.clone()).map_err(ScreenError::Inputs)?;
    let result = FrameLoop::new(setup, source, mailbox, arrivals, (cols, rows)).and_then(FrameLoop::run);
    terminal::give_back();
    result.map_err(ScreenError::Terminal)
}

/// A frame is put together here and written at once.
#[derive(Debug, Clone, Default)]
struct FrameBytes(Rc<RefCell<Vec<u8>>>);

impl Write for FrameBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Next,
    Leave(Left),
}

struct FrameLoop<'a> {
    setup: Setup,
    source: &'a mut dyn Source,
    mailbox: Mailbox,
    arrivals: Receiver<Arrived>,
    model: Model,
    live: LiveScreen,
    played: Option<Box<Screen>>,
    terminal: Terminal<CrosstermBackend<FrameBytes>>,
    frame: FrameBytes,
    /// Output that was taken and not processed yet.
    pending: Vec<u8>,
    /// How much of it was processed.
    processed: usize,
    dirty: bool,
    /// A key was pressed since the last frame.
    pressed: bool,
    /// When the last frame was.
    drawn: Instant,
    /// Nothing more comes from the source.
    over: bool,
    diffing: bool,
    title: String,
    pane: Size,
    /// The size that a recording says its terminal had; none in a running loop.
    recorded: Option<Size>,
}

impl<'a> FrameLoop<'a> {
    fn new(
        setup: Setup,
        source: &'a mut dyn Source,
        mailbox: Mailbox,
        arrivals: Receiver<Arrived>,
        (cols, rows): (u16, u16),
    ) -> io::Result<Self> {
        let frame = FrameBytes::default();
        let terminal = Terminal::new(CrosstermBackend::new(frame.clone()))?;
        let mut model = Model {
            utc_offset_s: utc_offset_s(),
            now_ms: source.now_ms(),
            ..Model::default()
        };
        (model.ui.cols, model.ui.rows) = (cols, rows);
        model.ui.mouse = setup.mouse;
        model.ui.transcript = setup.transcript;
        model.ui.replay = source.replay();
        model.ui.detaches = setup.reach.as_ref().is_some_and(|reach| reach.outlives_screen());
        model.ui.recall = Recall::of(setup.remembered.as_deref().map(read_messages).unwrap_or_default());
        source.past(&mut |record| model.apply(record));
        model.ui.toast = None;
        let pane = model.layout().pane();
        let mut frames = Self {
            live: LiveScreen::new(pane, setup.transcript),
            setup,
            source,
            mailbox,
            arrivals,
            model,
            played: None,
            terminal,
            frame,
            pending: Vec::new(),
            processed: 0,
            dirty: true,
            pressed: false,
            // The first frame is due at once.
            drawn: Instant::now().checked_sub(FRAME).unwrap_or_else(Instant::now),
            over: false,
            diffing: false,
            title: String::new(),
            pane,
            recorded: None,
        };
        frames.fit();
        // The loop of another process knows nothing of this terminal.
        if let Some(reach) = &frames.setup.reach {
            reach.resize(frames.pane);
        }
        Ok(frames)
    }

    fn run(mut self) -> io::Result<Left> {
        loop {
            if let Turn::Leave(left) = self.turn()? {
                return Ok(left);
            }
        }
    }

    fn turn(&mut self) -> io::Result<Turn> {
        while let Ok(arrived) = self.arrivals.try_recv() {
            let turn = self.take(arrived)?;
            if turn != Turn::Next {
                return Ok(turn);
            }
        }
        let now = Instant::now();
        if self.dirty && self.due() <= now {
            self.draw()?;
        }
        if self.processed < self.pending.len() {
            self.process_slice();
            return Ok(Turn::Next);
        }
        let deadline = self.deadline();
        if self.over {
            return self.wait_for_user(deadline);
        }
        match self.source.poll(deadline) {
            Poll::Event(event) => return Ok(self.take_event(event)),
            Poll::Woken => {
                self.take_refusals();
                self.pass_time();
            }
            Poll::Over => {
                self.over = true;
                // A replay stays to be looked at. After a run, the loop stays until its end was seen.
                if self.model.ui.replay.is_none() {
                    return Ok(Turn::Leave(Left::Over));
                }
            }
        }
        Ok(Turn::Next)
    }

    /// When the next frame may be drawn.
    fn due(&self) -> Instant {
        self.drawn + if self.pressed { KEY_FRAME } else { FRAME }
    }

    /// When there is something to draw without any message.
    fn deadline(&self) -> Option<Instant> {
        if self.dirty {
            return Some(self.due());
        }
        let paused = self.model.ui.replay.is_some_and(|replay| replay.paused || replay.over);
        let next_ms = self.model.next_change_ms().filter(|_| !paused)?;
        let speed = self.model.ui.replay.map_or(1.0, |replay| replay.speed);
        let wait_ms = next_ms.saturating_sub(self.source.now_ms());
        Some(Instant::now() + Duration::from_millis(wait_ms).div_f64(speed))
    }

    fn take_refusals(&mut self) {
        while let Some(why) = self.source.refusal() {
            self.model.ui.toast(Tone::Bad, sanitized(&why), self.source.now_ms());
            self.dirty = true;
        }
    }

    fn pass_time(&mut self) {
        let change = self.model.next_change_ms();
        self.model.advance(self.source.now_ms());
        self.dirty |= change.is_some_and(|change| change <= self.model.now_ms);
    }

    /// After the end: only the user matters.
    fn wait_for_user(&mut self, deadline: Option<Instant>) -> io::Result<Turn> {
        let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let arrived = match wait {
            Some(wait) => self.arrivals.recv_timeout(wait),
            None => self.arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match arrived {
            Ok(arrived) => self.take(arrived),
            Err(RecvTimeoutError::Timeout) => {
                self.pass_time();
                Ok(Turn::Next)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Turn::Leave(Left::Over)),
        }
    }

    fn take(&mut self, arrived: Arrived) -> io::Result<Turn> {
        match arrived {
            Arrived::Ui(event) => {
                self.pressed |= matches!(event, ScreenEvent::Input(_));
                if matches!(event, ScreenEvent::DiffLoaded { .. }) {
                    self.diffing = false;
                }
                self.model.now_ms = self.model.now_ms.max(self.source.now_ms());
                self.apply(event)
            }
            Arrived::Recording { iteration, screen } => {
                let result = screen.map(|screen| self.played = Some(screen));
                self.apply(ScreenEvent::Played { iteration, result })
            }
            Arrived::Stop => self.suspend(),
            Arrived::Continued => {
                // Whoever stopped and continued this process may have changed the terminal.
                terminal::take(self.setup.mouse)?;
                self.redraw()
            }
            Arrived::End(by) => Ok(self.signalled(by)),
        }
    }

    fn apply(&mut self, event: ScreenEvent) -> io::Result<Turn> {
        self.dirty = true;
        break_on_request(&event);
        for order in update(&mut self.model, event) {
            let turn = self.obey(order)?;
            if turn != Turn::Next {
                return Ok(turn);
            }
        }
        self.fit();
        Ok(Turn::Next)
    }

    fn obey(&mut self, order: Order) -> io::Result<Turn> {
        match order {
            Order::Command { command, by } => {
                if let Some(reach) = &self.setup.reach {
                    reach.command(command, by);
                }
            }
            Order::Type(input) => self.type_to_agent(&input),
            Order::Scroll(scroll) => self.scroll(scroll),
            Order::Find(direction) => {
                let query = self.model.ui.search.query.text().to_owned();
                let found = self
                    .shown_screen()
                    .is_some_and(|screen| find::find(screen, &query, direction));
                return self.apply(ScreenEvent::Searched { found });
            }
            Order::LoadDiff { iteration } => self.load_diff(iteration),
            Order::Play { iteration } => self.play(iteration),
            Order::RememberMessages => self.remember_messages(),
            Order::Replay(replay) => {
                if let Some(records) = self.source.steer(replay) {
                    self.jump(&records);
                }
                self.model.ui.replay = self.source.replay();
            }
            Order::Redraw => return self.redraw(),
            Order::Suspend => return self.suspend(),
            Order::Detach => return Ok(Turn::Leave(Left::Detached)),
            Order::Leave => return Ok(Turn::Leave(Left::Seen)),
        }
        Ok(Turn::Next)
    }

    fn signalled(&self, by: RequestedBy) -> Turn {
        let after = match &self.setup.reach {
            Some(reach) if !self.over => reach.signalled(by),
            Some(_) | None => AfterSignal::Leaves,
        };
        match after {
            AfterSignal::Stays => Turn::Next,
            AfterSignal::Leaves => Turn::Leave(Left::Signalled(by)),
        }
    }

    /// Gives the terminal back and stops this process, as the shell's Ctrl-Z does, until it is continued.
    fn suspend(&mut self) -> io::Result<Turn> {
        terminal::give_back();
        // All of the process group, as a terminal would; the agent has a terminal of its own and works on.
        kill(Pid::from_raw(0), Signal::SIGSTOP)?;
        terminal::take(self.setup.mouse)?;
        self.redraw()
    }

    fn redraw(&mut self) -> io::Result<Turn> {
        let (cols, rows) = crossterm::terminal::size()?;
        (self.model.ui.cols, self.model.ui.rows) = (cols, rows);
        self.fit();
        // Not `clear`: that asks the terminal where its cursor is, and the answer would be taken for keys.
        self.terminal.resize(Rect::new(0, 0, cols, rows))?;
        self.title.clear();
        self.dirty = true;
        Ok(Turn::Next)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.model.advance(self.source.now_ms());
        self.live.catch_up();
        self.write_title()?;
        // The terminal shows a frame whole or not at all, where it knows this.
        self.frame.write_all(b"\x1b[?2026h")?;
        let screens = Screens {
            live: self.live.screen(),
            played: self.played.as_deref(),
        };
        let (model, theme) = (&self.model, &self.setup.theme);
        self.terminal.draw(|frame| view::draw(model, &screens, theme, frame))?;
        self.frame.write_all(b"\x1b[?2026l")?;
        let bytes = std::mem::take(&mut *self.frame.0.borrow_mut());
        let bytes = self.setup.theme.encoded(bytes);
        self.drawn = Instant::now();
        self.dirty = false;
        self.pressed = false;
        terminal::write_all(&bytes)
    }

    fn write_title(&mut self) -> io::Result<()> {
        let title = view::window_title(&self.model);
        let title = self.setup.theme.spelled(&title).into_owned();
        if title == self.title {
            return Ok(());
        }
        write!(self.frame, "\x1b]2;{title}\x07")?;
        self.title = title;
        Ok(())
    }

    fn take_event(&mut self, event: UiEvent) -> Turn {
        match event {
            UiEvent::Record(record) => self.take_record(&record),
            UiEvent::Output(bytes) => (self.pending, self.processed) = (bytes, 0),
            UiEvent::Resized(size) => {
                self.recorded = Some(size);
                self.live.resize(self.live_size());
                self.dirty = true;
            }
            UiEvent::Detail(detail) => {
                self.model.log.tell(&detail);
                self.dirty |= self.model.ui.pane == Pane::Log;
            }
            UiEvent::Skipped { bytes } => {
                self.model.ui.dropped_bytes += bytes;
                self.dirty = true;
            }
        }
        Turn::Next
    }

    fn take_record(&mut self, record: &Record) {
        if let Event::IterationStarted { .. } = record.event {
            self.live.restart();
        }
        self.model.apply(record);
        show_question(&mut self.model);
        self.model.ui.replay = self.source.replay();
        self.dirty = true;
        self.fit();
        if let Event::IterationSettled { iteration, .. } = record.event
            && self.model.ui.pane == Pane::Diff
            && self.model.ui.diff.iteration == Some(iteration)
        {
            self.load_diff(iteration);
        }
        if let Some(reason) = notify::reason(&record.event, &self.model.run) {
            self.notify(reason);
        }
    }

    fn notify(&mut self, reason: notify::Reason) {
        // With the next frame: one writer, one order.
        let bytes = notify::bytes(&self.setup.notifier, &reason.text);
        self.frame.0.borrow_mut().extend_from_slice(&bytes);
        if let Notifier::Call(call) = &self.setup.notifier {
            call(reason);
        }
    }

    fn process_slice(&mut self) {
        let end = self.pending.len().min(self.processed + SLICE_BYTES);
        self.live.process(&self.pending[self.processed..end]);
        self.processed = end;
        self.dirty |= self.model.ui.pane == Pane::Terminal;
    }

    /// Starts again with other records: a replay has jumped.
    fn jump(&mut self, records: &[Record]) {
        self.model.forget_run();
        self.model.now_ms = 0;
        self.live.restart();
        (self.pending, self.processed) = (Vec::new(), 0);
        for record in records {
            self.model.apply(record);
        }
        self.model.ui.toast = None;
        self.over = false;
        self.fit();
    }

    /// The size of the terminal that is shown: in a replay that of the recording, as far as there is room.
    fn live_size(&self) -> Size {
        let Some(recorded) = self.recorded else {
            return self.pane;
        };
        Size {
            cols: recorded.cols.min(self.pane.cols),
            rows: recorded.rows.min(self.pane.rows),
        }
    }

    /// Gives terminals and agents the size that their pane has now.
    fn fit(&mut self) {
        let pane = self.model.layout().pane();
        if pane == self.pane {
            return;
        }
        self.pane = pane;
        self.live.resize(self.live_size());
        if let Some(reach) = &self.setup.reach {
            reach.resize(pane);
        }
    }

    fn type_to_agent(&mut self, input: &Input) {
        let bytes = typing::bytes(input, self.live.screen().vt(), self.model.layout().main);
        if let Some(reach) = self.setup.reach.as_ref().filter(|_| !bytes.is_empty()) {
            reach.type_bytes(bytes);
        }
    }

    /// The terminal that is shown, if one is.
    fn shown_screen(&mut self) -> Option<&mut Screen> {
        match (self.model.ui.pane, &self.model.ui.history.open) {
            (Pane::Terminal, _) => Some(self.live.unfolded()),
            (Pane::History, Some(playback)) if playback.state == PlaybackState::Loaded => self.played.as_deref_mut(),
            _ => None,
        }
    }

    fn scroll(&mut self, scroll: Scroll) {
        let Some(screen) = self.shown_screen() else { return };
        let at = screen.vt().scrollback();
        screen.scroll_to(match scroll {
            Scroll::Up(rows) => at.saturating_add(rows),
            Scroll::Down(rows) => at.saturating_sub(rows),
            Scroll::Top => usize::MAX,
            Scroll::Bottom => 0,
        });
        self.live.fold();
    }

    fn load_diff(&mut self, number: u32) {
        let Some(iteration) = self.model.run.iterations.numbered(number) else {
            return;
        };
        let Some(before) = iteration.before.clone() else {
            let lines = Err("There is no checkpoint to compare with.".to_owned());
            self.model.ui.diff.state = DiffState::None;
            _ = self.mailbox.send(Arrived::Ui(ScreenEvent::DiffLoaded {
                iteration: number,
                lines,
            }));
            return;
        };
        if std::mem::replace(&mut self.diffing, true) {
            return;
        }
        let request = DiffRequest {
            iteration: number,
            before,
            after: iteration.after.clone(),
        };
        let (differ, mailbox) = (self.setup.differ.clone(), self.mailbox.clone());
        thread::spawn(move || {
            let lines = differ(&request).map(|text| diff_lines(&text));
            mailbox.send(Arrived::Ui(ScreenEvent::DiffLoaded {
                iteration: number,
                lines,
            }))
        });
    }

    fn play(&mut self, iteration: u32) {
        let recordings = Arc::clone(&self.setup.recordings);
        let (mailbox, pane) = (self.mailbox.clone(), self.pane);
        thread::spawn(move || {
            let path = recordings(iteration);
            let screen = File::open(&path)
                .map_err(|error| format!("{}: {error}", path.display()))
                .and_then(|file| {
                    let lines = BufReader::new(file).lines().map_while(Result::ok);
                    cast::play(lines, pane, SCROLLBACK_ROWS)
                        .map(Box::new)
                        .ok_or_else(|| format!("{}: not a recording", path.display()))
                });
            mailbox.send(Arrived::Recording { iteration, screen })
        });
    }

    fn remember_messages(&self) {
        let Some(path) = &self.setup.remembered else { return };
        let mut text = String::new();
        for message in self.model.ui.recall.texts() {
            text += &serde_json::to_string(message).expect("a string has no failing serialiser");
            text.push('\n');
        }
        // The messages themselves are in the journal; without this they are only typed again.
        _ = fs::write(path, text);
    }
}

/// Panics where a test asks for it: the variable and a key that nothing else uses. Not in a release.
fn break_on_request(event: &ScreenEvent) {
    if cfg!(debug_assertions)
        && let ScreenEvent::Input(Input::Key(key)) = event
        && key.code == KeyCode::F(12)
        && std::env::var_os("RALPH_TEST_BREAK_SCREEN").is_some()
    {
        panic!("the screen was asked to break");
    }
}

fn read_messages(path: &std::path::Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// What the user's clock is ahead of UTC now.
fn utc_offset_s() -> i64 {
    i64::from(jiff::Zoned::now().offset().seconds())
}

/// Lines of a patch as they can be shown.
fn diff_lines(text: &str) -> Vec<String> {
    sanitized(text).lines().map(|line| line.replace('\t', "    ")).collect()
}
