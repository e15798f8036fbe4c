//! The frame loop.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crossterm::event::{Event as Input, KeyCode};
use ralph_core::event::{Event, Record, RequestedBy};
use ralph_core::run::Phase;
use ralph_state::control::frames::{PollResult, UiEvent};
use ralph_system::proc::{Size, screen::Screen};
use ralph_text::sanitized;
use ralph_words::{Tone, short_duration};
use ratatui::layout::Rect;

use super::{
    AfterSignal, Setup,
    boxes::show_question,
    clipboard::{Clip, KeptEnd},
    editor::Recall,
    external_editor::{EditorDocument, EditorHandover},
    inputs::{Mailbox, ScreenInput},
    jobs::Jobs,
    looks, memory,
    model::{CopyPortion, InputMode, Model, Pane},
    notify::{self, NotifyChannel, Progress},
    order::{EditTarget, MatchTarget, ScreenEvent, ScreenOrder, Scroll},
    panes::{refresh_report, show_end},
    screen_terminal::{FrameBytes, FrameTerminal, ScreenError, ScreenTerminal, draw_frame, frame_terminal},
    screens::LiveScreen,
    search_query::{LineMatch, SearchQuery},
    source::EventSource,
    terminal,
    terminal_search::{self, TerminalSearch},
    typing,
    update::update,
    view::{self, KeptCells, ShownTerminals},
};

/// Minimum time between two frames, and after a key press, to which the user expects a quick response.
const FRAME: Duration = Duration::from_millis(33);
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Bytes of output processed between two checks for keys.
const SLICE_BYTES: usize = 16 * 1024;

/// Why a screen closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenExit {
    /// The event source has ended.
    Over,
    /// The user has acknowledged the end.
    Seen,
    /// The user left a run that goes on.
    Detached,
    /// The user wants to continue a finished run with a raised limit.
    Continued,
    Signalled(RequestedBy),
}

/// Shows a run until it is over and acknowledged, or until the user leaves. Returns which.
///
/// Takes the terminal and gives it back, except on a panic: then the caller must.
///
/// # Errors
/// [`ScreenError`] if the terminal cannot be used, or fails later.
pub fn run(setup: Setup, source: &mut dyn EventSource) -> Result<ScreenExit, ScreenError> {
    let taken = ScreenTerminal::take(source.waker(), &setup.theme, setup.mouse)?;
    let result = FrameLoop::new(setup, source, taken).and_then(FrameLoop::run);
    terminal::give_back();
    result.map_err(ScreenError::Terminal)
}

/// Whether the loop continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameStep {
    Next,
    Leave(ScreenExit),
}

struct FrameLoop<'a> {
    setup: Setup,
    source: &'a mut dyn EventSource,
    mailbox: Mailbox,
    arrivals: Receiver<ScreenInput>,
    model: Model,
    live: LiveScreen,
    played: Option<Box<Screen>>,
    terminal: FrameTerminal,
    frame: FrameBytes,
    /// Output that was received but not processed yet.
    pending: Vec<u8>,
    /// Bytes of `pending` already processed.
    processed: usize,
    dirty: bool,
    /// Whether a shown clock has moved since the last frame.
    ticked: bool,
    /// The terminal's cells in the last frame, and the count of changes at which they were drawn.
    kept: (u64, RefCell<Option<KeptCells>>),
    /// Whether a key was pressed since the last frame.
    pressed: bool,
    /// The time of the last frame.
    drawn: Instant,
    /// A search through the shown terminal.
    finder: Option<(Pane, TerminalSearch)>,
    /// Counts changes of terminal rows.
    version: u64,
    /// Whether the source has ended.
    over: bool,
    jobs: Jobs,
    handover: EditorHandover,
    title: String,
    progress: Progress,
    pane: Size,
    /// The size that the loop was told for the agent's terminal.
    agent_size: Option<Size>,
    /// The terminal size stated by the recording; `None` in a running loop.
    recorded: Option<Size>,
}

impl<'a> FrameLoop<'a> {
    fn new(setup: Setup, source: &'a mut dyn EventSource, taken: ScreenTerminal) -> io::Result<Self> {
        let ScreenTerminal {
            mailbox,
            arrivals,
            size: (cols, rows),
            first_frame,
            ownership,
        } = taken;
        let frame = FrameBytes::default();
        let terminal = frame_terminal(&frame, (cols, rows))?;
        let mut model = Model {
            utc_offset_s: utc_offset_s(),
            now_ms: source.now_ms(),
            ..Model::default()
        };
        (model.ui.cols, model.ui.rows) = (cols, rows);
        model.ui.mouse = setup.mouse;
        model.ui.notifies = looks::notifies(&setup);
        model.ui.replay = source.replay();
        model.ui.timeline = source.timeline();
        model.ui.continues = setup.continues;
        model.ui.restores = setup.restorer.is_some();
        model.ui.detaches = setup.reach.as_ref().is_some_and(|reach| reach.outlives_screen());
        model.ui.recall = Recall::new(setup.remembered.as_deref().map(memory::read).unwrap_or_default());
        source.past(&mut |record| model.apply(record));
        model.ui.transcript = is_transcript(&model, &setup.terminals, &*source);
        model.ui.toast = None;
        show_end(&mut model);
        let pane = model.pane();
        let jobs = Jobs::new(&setup, mailbox.clone());
        let mut frames = Self {
            live: LiveScreen::new(pane, model.ui.transcript),
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
            ticked: false,
            kept: (0, RefCell::default()),
            pressed: false,
            drawn: first_frame.checked_sub(FRAME).unwrap_or(first_frame),
            finder: None,
            version: 0,
            over: false,
            jobs,
            handover: EditorHandover::new(ownership),
            title: String::new(),
            progress: Progress::None,
            pane,
            agent_size: None,
            recorded: None,
        };
        frames.fit();
        Ok(frames)
    }

    fn run(mut self) -> io::Result<ScreenExit> {
        loop {
            if let FrameStep::Leave(left) = self.turn()? {
                return Ok(left);
            }
        }
    }

    fn turn(&mut self) -> io::Result<FrameStep> {
        while let Ok(arrived) = self.arrivals.try_recv() {
            let turn = self.take(arrived)?;
            if turn != FrameStep::Next {
                return Ok(turn);
            }
        }
        let now = Instant::now();
        if (self.dirty || self.ticked) && self.due() <= now && !self.handover.is_open() {
            self.draw()?;
        }
        if self.processed < self.pending.len() {
            self.process_slice();
            return Ok(FrameStep::Next);
        }
        let deadline = self.deadline();
        if self.over {
            return self.wait_for_user(deadline);
        }
        match self.source.poll(deadline) {
            PollResult::Event(event) => return Ok(self.take_event(event)),
            PollResult::Woken => {
                self.take_refusals();
                self.pass_time();
            }
            PollResult::Over => {
                self.over = true;
                // A replay stays open. A run's loop stays until its end was acknowledged.
                if self.model.ui.replay.is_none() && !self.handover.is_open() {
                    return Ok(FrameStep::Leave(ScreenExit::Over));
                }
            }
        }
        Ok(FrameStep::Next)
    }

    /// The earliest time of the next frame.
    fn due(&self) -> Instant {
        self.drawn + if self.pressed { KEY_FRAME } else { FRAME }
    }

    /// The time of the next redraw if no message arrives.
    fn deadline(&self) -> Option<Instant> {
        if self.handover.is_open() {
            return None;
        }
        if self.dirty || self.ticked {
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
        self.ticked |= change.is_some_and(|change| change <= self.model.now_ms);
    }

    /// Waits for input after the source has ended.
    fn wait_for_user(&mut self, deadline: Option<Instant>) -> io::Result<FrameStep> {
        let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let arrived = match wait {
            Some(wait) => self.arrivals.recv_timeout(wait),
            None => self.arrivals.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match arrived {
            Ok(arrived) => self.take(arrived),
            Err(RecvTimeoutError::Timeout) => {
                self.pass_time();
                Ok(FrameStep::Next)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(FrameStep::Leave(ScreenExit::Over)),
        }
    }

    fn take(&mut self, arrived: ScreenInput) -> io::Result<FrameStep> {
        match arrived {
            // Typed ahead, and meant for the program that has the terminal now.
            ScreenInput::Ui(ScreenEvent::Input(input))
                if self.handover.is_open() && !matches!(input, Input::Resize(..)) =>
            {
                Ok(FrameStep::Next)
            }
            ScreenInput::Ui(event) => {
                self.pressed |= matches!(event, ScreenEvent::Input(_));
                if matches!(event, ScreenEvent::DiffLoaded { .. }) {
                    self.jobs.has_diffed();
                }
                self.model.now_ms = self.model.now_ms.max(self.source.now_ms());
                self.apply(event)
            }
            ScreenInput::Recording { iteration, screen } => {
                let open = self.model.ui.history.open.as_ref().map(|open| open.iteration);
                let is_wanted = self.jobs.has_played(open.unwrap_or(iteration), self.pane);
                // Closed meanwhile; something else may be shown.
                let Some(wanted) = open else {
                    return Ok(FrameStep::Next);
                };
                if !is_wanted {
                    // Another iteration was opened meanwhile, or the width has changed.
                    self.jobs.play(wanted, self.pane);
                    return Ok(FrameStep::Next);
                }
                let result = screen.map(|screen| self.played = Some(screen));
                self.finder = None;
                self.apply(ScreenEvent::Played { iteration, result })
            }
            ScreenInput::Unfolded { overlay, screen } => {
                let result = screen.map(|screen| self.played = Some(screen));
                self.finder = None;
                self.apply(ScreenEvent::Unfolded { overlay, result })
            }
            ScreenInput::Background(found) => {
                if let Some(background) = found {
                    self.setup.theme = self.setup.theme.on(background);
                }
                // Draw the first frame at once.
                let now = Instant::now();
                self.drawn = self.drawn.min(now.checked_sub(FRAME).unwrap_or(now));
                self.dirty = true;
                Ok(FrameStep::Next)
            }
            ScreenInput::Returned(failure) => self.take_back(failure),
            // The program that has the terminal was stopped and continued.
            ScreenInput::Stop | ScreenInput::Continued if self.handover.is_open() => Ok(FrameStep::Next),
            ScreenInput::Stop => self.suspend(),
            ScreenInput::Continued => {
                // The terminal's settings may have changed while this process was stopped.
                terminal::take(self.setup.mouse)?;
                self.redraw()
            }
            ScreenInput::End(by) => Ok(self.signalled(by)),
        }
    }

    fn apply(&mut self, event: ScreenEvent) -> io::Result<FrameStep> {
        self.dirty = true;
        break_on_request(&event);
        for order in update(&mut self.model, event) {
            let turn = self.obey(order)?;
            if turn != FrameStep::Next {
                return Ok(turn);
            }
        }
        // A search ends when its query is empty or no terminal is shown.
        if self.model.ui.search.query.is_empty() || !self.model.ui.shows_cells() {
            self.finder = None;
        }
        self.fit();
        Ok(FrameStep::Next)
    }

    fn obey(&mut self, order: ScreenOrder) -> io::Result<FrameStep> {
        match order {
            ScreenOrder::Command { command, by } => {
                let asked = self.setup.reach.as_ref().map(|reach| reach.command(command, by));
                self.say_if_refused(asked);
            }
            ScreenOrder::CancelTask { number } => {
                let asked = self.setup.reach.as_ref().map(|reach| reach.cancel_task(number));
                self.say_if_refused(asked);
            }
            ScreenOrder::Type(input) => self.type_to_agent(&input),
            ScreenOrder::Scroll(scroll) => self.scroll(scroll),
            ScreenOrder::Find(wanted) => {
                let found = self.find(wanted);
                return self.apply(ScreenEvent::Searched { found });
            }
            ScreenOrder::LoadDiff => self.jobs.load_diff(&mut self.model),
            ScreenOrder::EndFind => self.end_find(),
            ScreenOrder::Edit(edited) => self.edit(edited),
            ScreenOrder::Copy(text) => self.copy(&text, KeptEnd::Beginning),
            ScreenOrder::CopyFrom(part) => self.copy_from(part),
            ScreenOrder::Play { iteration } => self.jobs.play(iteration, self.pane),
            ScreenOrder::Unfold(overlay) => self.jobs.unfold(overlay, self.pane),
            ScreenOrder::RememberMessages => self.remember_messages(),
            ScreenOrder::Restore(target) => self.jobs.restore(target),
            ScreenOrder::Replay(replay) => {
                if let Some(past) = self.source.steer(replay) {
                    self.jump(past.records());
                }
                self.model.ui.replay = self.source.replay();
            }
            ScreenOrder::Look(change) => {
                looks::apply(change, &mut self.setup, &mut self.model)?;
                return self.redraw();
            }
            ScreenOrder::Redraw => return self.redraw(),
            ScreenOrder::Suspend => return self.suspend(),
            ScreenOrder::Detach => return Ok(FrameStep::Leave(ScreenExit::Detached)),
            ScreenOrder::Continue => return Ok(FrameStep::Leave(ScreenExit::Continued)),
            ScreenOrder::Leave => return Ok(FrameStep::Leave(ScreenExit::Seen)),
        }
        Ok(FrameStep::Next)
    }

    fn say_if_refused(&mut self, asked: Option<Result<(), String>>) {
        if let Some(Err(why)) = asked {
            self.model.ui.toast(Tone::Bad, why, self.source.now_ms());
        }
    }

    fn signalled(&self, by: RequestedBy) -> FrameStep {
        let after = match &self.setup.reach {
            Some(reach) if !self.over => reach.signalled(by),
            Some(_) | None => AfterSignal::Leaves,
        };
        match after {
            AfterSignal::Stays => FrameStep::Next,
            AfterSignal::Leaves => FrameStep::Leave(ScreenExit::Signalled(by)),
        }
    }

    /// Gives the terminal back and stops this process until it is continued, like Ctrl-Z in a shell.
    fn suspend(&mut self) -> io::Result<FrameStep> {
        terminal::give_back();
        // Stops the whole process group, as a terminal would. The agent has its own terminal and continues.
        let since = Instant::now();
        self.mailbox.stop_group()?;
        terminal::take(self.setup.mouse)?;
        let away = short_duration(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        let meanwhile = match &self.setup.reach {
            Some(reach) if reach.outlives_screen() => "; the run continued",
            Some(_) => "; ralph was suspended, its agent continued",
            None => "",
        };
        let now_ms = self.source.now_ms();
        self.model
            .ui
            .toast(Tone::Note, format!("back after {away}{meanwhile}"), now_ms);
        self.redraw()
    }

    /// Lends the terminal to the user's editor. Meanwhile events are processed but not drawn.
    fn edit(&mut self, edited: EditTarget) {
        let document = match edited {
            EditTarget::Plan => match &self.setup.project {
                Some(project) => Ok(EditorDocument::Real(project.join(&self.model.run.settings.plan))),
                None => return self.tell(Tone::Note, "the plan is on the machine of the run: edit it there"),
            },
            EditTarget::Text { name, text } => EditorDocument::temporary(name, &text),
            EditTarget::Terminal => {
                let text = self.shown_screen().map(terminal_search::text);
                self.live.fold();
                EditorDocument::temporary("transcript.txt", &text.unwrap_or_default())
            }
        };
        match document {
            Ok(document) => {
                terminal::give_back();
                self.handover.begin(document, self.mailbox.clone());
            }
            Err(error) => self.tell(Tone::Bad, &format!("no temporary file: {error}")),
        }
    }

    /// Takes the terminal back from the editor, which may have failed.
    fn take_back(&mut self, failure: Option<String>) -> io::Result<FrameStep> {
        let is_left = self.over && self.model.ui.replay.is_none();
        if !is_left {
            terminal::take(self.setup.mouse)?;
        }
        let was_plan = self.handover.end();
        if is_left {
            return Ok(FrameStep::Leave(ScreenExit::Over));
        }
        match failure {
            Some(why) => self.tell(Tone::Bad, &why),
            None if was_plan && !self.model.run.is_over() => {
                self.tell(Tone::Note, "changes to the plan apply from the next iteration");
            }
            None => {}
        }
        self.redraw()
    }

    fn tell(&mut self, tone: Tone, what: &str) {
        self.model.ui.toast(tone, sanitized(what), self.source.now_ms());
        self.dirty = true;
    }

    fn redraw(&mut self) -> io::Result<FrameStep> {
        let (cols, rows) = crossterm::terminal::size()?;
        (self.model.ui.cols, self.model.ui.rows) = (cols, rows);
        self.fit();
        // Not `clear`: it asks the terminal for the cursor position, and the answer would be read as keys.
        self.terminal.resize(Rect::new(0, 0, cols, rows))?;
        self.title.clear();
        self.progress = Progress::None;
        self.dirty = true;
        Ok(FrameStep::Next)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.model.advance(self.source.now_ms());
        self.jobs.list_commits(&self.model);
        refresh_report(&mut self.model);
        self.live.catch_up();
        self.write_title()?;
        self.write_progress()?;
        let (version, kept) = &mut self.kept;
        let only_ticked = !self.dirty && *version == self.version;
        if !only_ticked {
            (*version, *kept) = (self.version, RefCell::default());
        }
        let screens = ShownTerminals {
            kept: only_ticked.then_some(&*kept),
            live: self.live.screen(),
            played: self.played.as_deref(),
        };
        let (model, theme) = (&self.model, &self.setup.theme);
        let size = (model.ui.cols, model.ui.rows);
        draw_frame(&mut self.terminal, size, |frame| {
            view::draw(model, &screens, theme, frame);
        })?;
        let bytes = self.frame.take();
        let bytes = self.setup.theme.encoded(bytes);
        self.drawn = Instant::now();
        (self.dirty, self.ticked) = (false, false);
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

    fn write_progress(&mut self) -> io::Result<()> {
        let progress = Progress::from_view(&self.model.run);
        if self.setup.shows_progress && progress != self.progress {
            terminal::shows_progress();
            write!(self.frame, "{}", progress.sequence())?;
            self.progress = progress;
        }
        Ok(())
    }

    fn take_event(&mut self, event: UiEvent) -> FrameStep {
        match event {
            UiEvent::Record(record) => self.take_record(&record),
            UiEvent::Output(bytes) => {
                self.model.activity.note_output(self.source.now_ms());
                (self.pending, self.processed) = (bytes, 0);
            }
            UiEvent::Resized(size) => {
                self.recorded = Some(size);
                self.live.resize(self.live_size());
                self.version += 1;
                self.dirty = true;
            }
            UiEvent::Detail(detail) => {
                self.model.tell(&detail);
                self.dirty |= self.model.ui.pane == Pane::Log;
            }
            UiEvent::Skipped { bytes } => {
                self.model.ui.dropped_bytes += bytes;
                self.dirty = true;
            }
        }
        FrameStep::Next
    }

    fn take_record(&mut self, record: &Record) {
        self.model.apply(record);
        if let Event::IterationStarted { .. } = record.event {
            self.restart_terminal();
        }
        show_question(&mut self.model);
        show_end(&mut self.model);
        self.model.ui.replay = self.source.replay();
        self.dirty = true;
        self.fit();
        if let Event::IterationSettled { iteration, .. } = record.event
            && self.model.ui.pane == Pane::Diff
            && self.model.ui.diff.iteration == Some(iteration)
        {
            self.jobs.load_diff(&mut self.model);
        }
        if let Some(reason) = notify::reason(&record.event, &self.model.run) {
            self.notify(reason);
        }
    }

    fn notify(&mut self, reason: notify::Reason) {
        if self.model.ui.notifies == Some(false) {
            return;
        }
        // Written with the next frame, so that there is a single writer.
        let bytes = notify::bytes(&self.setup.notifier, &reason.text);
        self.frame.push(&bytes);
        if let NotifyChannel::Call(call) = &self.setup.notifier {
            call(reason);
        }
    }

    fn process_slice(&mut self) {
        let end = self.pending.len().min(self.processed + SLICE_BYTES);
        self.live.process(&self.pending[self.processed..end]);
        self.processed = end;
        self.version += 1;
        self.dirty |= self.model.ui.pane == Pane::Terminal;
    }

    /// Rebuilds the model from `records` after a jump in a replay.
    fn jump(&mut self, records: &[Record]) {
        self.model.forget_run();
        self.model.now_ms = 0;
        (self.pending, self.processed) = (Vec::new(), 0);
        for record in records {
            self.model.apply(record);
        }
        self.restart_terminal();
        self.model.ui.toast = None;
        self.over = false;
        self.fit();
    }

    /// Empties the terminal. Its kind depends on the adapter, which may change within a run.
    fn restart_terminal(&mut self) {
        self.model.ui.transcript = is_transcript(&self.model, &self.setup.terminals, &*self.source);
        self.live.restart(self.model.ui.transcript);
        // A transcript's agent does not read the terminal.
        if self.model.ui.transcript && self.model.ui.mode == InputMode::Typing {
            self.model.ui.mode = InputMode::Normal;
        }
        self.version += 1;
    }

    /// The size of the shown terminal; in a replay, that of the recording as far as it fits.
    fn live_size(&self) -> Size {
        let Some(recorded) = self.recorded else {
            return self.pane;
        };
        Size {
            cols: recorded.cols.min(self.pane.cols),
            rows: recorded.rows.min(self.pane.rows),
        }
    }

    /// Resizes terminals and agents to the current pane.
    fn fit(&mut self) {
        let pane = self.model.pane();
        self.resize_agent(pane);
        if pane == self.pane {
            return;
        }
        self.pane = pane;
        self.live.resize(self.live_size());
        // A transcript is wrapped again for the new size.
        if let Some(open) = &self.model.ui.history.open {
            self.jobs.play(open.iteration, self.pane);
        }
        self.version += 1;
    }

    /// Gives the agent's terminal the size of the pane, which depends on the number of tasks. Before the plan is read,
    /// the size is the loop's own guess, unless it began without this screen.
    fn resize_agent(&mut self, pane: Size) {
        let run = &self.model.run;
        let is_plan_unread = run.plan.tasks.is_empty() && matches!(run.phase, Phase::Idle | Phase::Preparing { .. });
        if is_plan_unread || self.agent_size == Some(pane) {
            return;
        }
        self.agent_size = Some(pane);
        if let Some(reach) = &self.setup.reach {
            reach.resize(pane);
        }
    }

    fn type_to_agent(&mut self, input: &Input) {
        let bytes = typing::bytes(input, self.live.screen().vt(), self.model.layout().terminal());
        if let Some(reach) = self.setup.reach.as_ref().filter(|_| !bytes.is_empty()) {
            reach.type_bytes(bytes);
        }
    }

    /// The terminal that is shown, if any.
    fn shown_screen(&mut self) -> Option<&mut Screen> {
        if !self.model.ui.shows_cells() {
            return None;
        }
        match self.model.ui.shows_agent() {
            true => Some(self.live.unfolded()),
            false => self.played.as_deref_mut(),
        }
    }

    fn scroll(&mut self, scroll: Scroll) {
        let Some(screen) = self.shown_screen() else { return };
        let at = screen.scrollback();
        screen.scroll_to(match scroll {
            Scroll::Up(rows) => at.saturating_add(rows),
            Scroll::Down(rows) => at.saturating_sub(rows),
            Scroll::Top => usize::MAX,
            Scroll::Bottom => 0,
        });
        self.live.fold();
    }

    fn find(&mut self, wanted: MatchTarget) -> Option<LineMatch> {
        let needle = SearchQuery::parse(self.model.ui.search.query.text())?;
        let (version, pane) = (self.version, self.model.ui.pane);
        let finder = self.finder.take().filter(|(of, _)| *of == pane);
        let screen = self.shown_screen()?;
        let mut finder = finder.map_or_else(|| TerminalSearch::new(screen), |(_, finder)| finder);
        let found = finder.seek(screen, version, &needle, wanted);
        self.finder = Some((pane, finder));
        found
    }

    fn copy(&mut self, text: &str, keep: KeptEnd) {
        let now_ms = self.source.now_ms();
        self.dirty = true;
        let Some(clip) = Clip::new(text, keep) else {
            return self.model.ui.toast(Tone::Note, "there is nothing to copy", now_ms);
        };
        // Written with the next frame, so that there is a single writer.
        self.frame.push(&clip.sequence());
        self.model.ui.toast(Tone::User, clip.in_words(), now_ms);
    }

    fn copy_from(&mut self, part: CopyPortion) {
        let finder = self.finder.take();
        let text = self.shown_screen().map(|screen| match part {
            CopyPortion::All => terminal_search::text(screen),
            CopyPortion::Line => terminal_search::line(screen, finder.as_ref().map(|(_, finder)| finder)),
            CopyPortion::Shown | CopyPortion::Block | CopyPortion::Message => terminal_search::shown(screen),
        });
        self.finder = finder;
        self.live.fold();
        let keep = if part == CopyPortion::All {
            KeptEnd::End
        } else {
            KeptEnd::Beginning
        };
        self.copy(&text.unwrap_or_default(), keep);
    }

    fn end_find(&mut self) {
        if let (Some((_, finder)), Some(screen)) = (self.finder.take(), self.shown_screen()) {
            finder.go_back(screen);
            self.live.fold();
        }
    }

    fn remember_messages(&mut self) {
        let recall = &mut self.model.ui.recall;
        if let (Some(path), Some(newest)) = (&self.setup.remembered, recall.texts().last())
            // A failure is ignored: the messages themselves are in the journal.
            && let Ok(texts) = memory::add(path, newest)
        {
            *recall = Recall::new(texts);
        }
    }
}

/// Panics if a test asks for it, by a variable and a key without another use. Debug builds only.
fn break_on_request(event: &ScreenEvent) {
    if cfg!(debug_assertions)
        && let ScreenEvent::Input(Input::Key(key)) = event
        && key.code == KeyCode::F(12)
        && std::env::var_os("RALPH_TEST_BREAK_SCREEN").is_some()
    {
        panic!("the screen was asked to break");
    }
}

/// Whether the agent's output is rendered from its signals. Agents in `terminals` draw their own terminal instead.
fn is_transcript(model: &Model, terminals: &[String], source: &dyn EventSource) -> bool {
    let adapter = model.run.current_adapter();
    let is_drawn = || terminals.iter().any(|drawn| drawn == adapter);
    source.is_transcript().unwrap_or_else(|| !is_drawn())
}

/// Current offset of the user's time zone from UTC, in seconds.
pub(super) fn utc_offset_s() -> i64 {
    i64::from(jiff::Zoned::now().offset().seconds())
}
