//! The screen of a run: takes records and output into the model, and carries out the model's orders.

use std::{
    cell::RefCell,
    io::{self, Write},
    time::{Duration, Instant},
};

use crossterm::event::{Event as Input, KeyCode};
use ralph_core::event::{Event, IterationEvent, Record, RequestedBy};
use ralph_core::run::Phase;
use ralph_state::control::frames::{PollResult, UiEvent};
use ralph_system::proc::{Size, screen::Screen};
use ralph_text::sanitized;
use ralph_words::{Tone, short_duration};

use super::{
    AfterSignal, Setup,
    boxes::show_question,
    clipboard::{Clip, KeptEnd},
    editor::Recall,
    external_editor::EditorDocument,
    inputs::RenderedTerminal,
    jobs::Jobs,
    looks, memory,
    model::{CopyPortion, InputMode, Model, Pane},
    notify::{self, NotifyChannel, Progress},
    order::{EditTarget, MatchTarget, ScreenEvent, ScreenOrder, Scroll},
    panes::{refresh_report, show_end},
    screen_loop::{self, FrameStep, LoopScreen, ScreenExit, SourceState},
    screen_terminal::{ScreenError, ScreenTerminal},
    screens::LiveScreen,
    search_query::{LineMatch, SearchQuery},
    source::EventSource,
    terminal,
    terminal_search::{self, TerminalSearch},
    typing,
    update::update,
    view::{self, KeptCells, ShownTerminals},
};

/// Bytes of output processed between two checks for keys.
const SLICE_BYTES: usize = 16 * 1024;

/// Shows a run until it is over and acknowledged, or until the user leaves. Returns which.
///
/// Takes the terminal and gives it back, except on a panic: then the caller must.
///
/// # Errors
/// [`ScreenError`] if the terminal cannot be used, or fails later.
pub fn run(setup: Setup, source: &mut dyn EventSource) -> Result<ScreenExit, ScreenError> {
    let terminal = ScreenTerminal::take(source.waker(), setup.theme, setup.mouse)?;
    let result = screen_loop::run(&mut RunScreen::new(setup, source, terminal));
    terminal::give_back();
    result.map_err(ScreenError::Terminal)
}

struct RunScreen<'a> {
    setup: Setup,
    source: &'a mut dyn EventSource,
    terminal: ScreenTerminal,
    model: Model,
    live: LiveScreen,
    played: Option<Box<Screen>>,
    /// Output that was received but not processed yet.
    pending: Vec<u8>,
    /// Bytes of `pending` already processed.
    processed: usize,
    /// The terminal's cells in the last frame, and the count of changes at which they were drawn.
    kept: (u64, RefCell<Option<KeptCells>>),
    /// A search through the shown terminal.
    finder: Option<(Pane, TerminalSearch)>,
    /// Counts changes of terminal rows.
    version: u64,
    /// Whether the source has ended.
    over: bool,
    jobs: Jobs,
    /// The document in the user's editor, if one is open.
    edited: Option<EditorDocument>,
    progress: Progress,
    pane: Size,
    /// The size that the loop was told for the agent's terminal.
    agent_size: Option<Size>,
    /// The terminal size stated by the recording; `None` in a running loop.
    recorded: Option<Size>,
}

impl<'a> RunScreen<'a> {
    fn new(setup: Setup, source: &'a mut dyn EventSource, terminal: ScreenTerminal) -> Self {
        let mut model = Model {
            utc_offset_s: utc_offset_s(),
            now_ms: source.now_ms(),
            ..Model::default()
        };
        (model.ui.cols, model.ui.rows) = terminal.size;
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
        let jobs = Jobs::new(&setup, terminal.mailbox.clone());
        let mut screen = Self {
            live: LiveScreen::new(pane, model.ui.transcript),
            setup,
            source,
            terminal,
            model,
            played: None,
            pending: Vec::new(),
            processed: 0,
            kept: (0, RefCell::default()),
            finder: None,
            version: 0,
            over: false,
            jobs,
            edited: None,
            progress: Progress::None,
            pane,
            agent_size: None,
            recorded: None,
        };
        screen.fit();
        screen
    }

    fn take_refusals(&mut self) {
        while let Some(why) = self.source.refusal() {
            self.model.ui.toast(Tone::Bad, sanitized(&why), self.source.now_ms());
            self.terminal.dirty = true;
        }
    }

    fn update(&mut self, event: ScreenEvent) -> io::Result<FrameStep> {
        self.terminal.dirty = true;
        let mut step = FrameStep::Next;
        for order in update(&mut self.model, event) {
            match self.obey(order)? {
                FrameStep::Next => {}
                FrameStep::Leave(left) => return Ok(FrameStep::Leave(left)),
                other @ (FrameStep::Redraw | FrameStep::Suspend) => step = other,
            }
        }
        // A search ends when its query is empty or no terminal is shown.
        if self.model.ui.search.query.is_empty() || !self.model.ui.shows_cells() {
            self.finder = None;
        }
        self.fit();
        Ok(step)
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
                return self.update(ScreenEvent::Searched { found });
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
                let stored = self.setup.looks.as_deref();
                looks::apply(change, stored, &mut self.terminal.theme, &mut self.model)?;
                self.terminal.mouse = self.model.ui.mouse;
                return Ok(FrameStep::Redraw);
            }
            ScreenOrder::Redraw => return Ok(FrameStep::Redraw),
            ScreenOrder::Suspend => return Ok(FrameStep::Suspend),
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
                self.terminal.lend(document.opener());
                self.edited = Some(document);
            }
            Err(error) => self.tell(Tone::Bad, &format!("no temporary file: {error}")),
        }
    }

    fn tell(&mut self, tone: Tone, what: &str) {
        self.model.ui.toast(tone, sanitized(what), self.source.now_ms());
        self.terminal.dirty = true;
    }

    fn write_progress(&mut self) -> io::Result<()> {
        let progress = Progress::from_view(&self.model.run);
        if self.setup.shows_progress && progress != self.progress {
            terminal::shows_progress();
            write!(self.terminal.frame, "{}", progress.sequence())?;
            self.progress = progress;
        }
        Ok(())
    }

    fn take_event(&mut self, event: UiEvent) {
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
                self.terminal.dirty = true;
            }
            UiEvent::Detail(detail) => {
                self.model.tell(&detail);
                self.terminal.dirty |= self.model.ui.pane == Pane::Log;
            }
            UiEvent::Skipped { bytes } => {
                self.model.ui.dropped_bytes += bytes;
                self.terminal.dirty = true;
            }
        }
    }

    fn take_record(&mut self, record: &Record) {
        self.model.apply(record);
        if let Event::Iteration(IterationEvent::Started { .. }) = record.event {
            self.restart_terminal();
        }
        show_question(&mut self.model);
        show_end(&mut self.model);
        self.model.ui.replay = self.source.replay();
        self.terminal.dirty = true;
        self.fit();
        if let Event::Iteration(IterationEvent::Settled { iteration, .. }) = record.event
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
        let bytes = notify::bytes(&self.setup.notifier, &reason.text);
        self.terminal.frame.push(&bytes);
        if let NotifyChannel::Call(call) = &self.setup.notifier {
            call(reason);
        }
    }

    fn process_slice(&mut self) {
        let end = self.pending.len().min(self.processed + SLICE_BYTES);
        self.live.process(&self.pending[self.processed..end]);
        self.processed = end;
        self.version += 1;
        self.terminal.dirty |= self.model.ui.pane == Pane::Terminal;
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
        self.terminal.dirty = true;
        let Some(clip) = Clip::new(text, keep) else {
            return self.model.ui.toast(Tone::Note, "there is nothing to copy", now_ms);
        };
        self.terminal.frame.push(&clip.sequence());
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

impl LoopScreen for RunScreen<'_> {
    fn terminal(&mut self) -> &mut ScreenTerminal {
        &mut self.terminal
    }

    fn source(&self) -> SourceState {
        match (self.over, self.model.ui.replay) {
            (false, _) => SourceState::Open,
            // A replay stays open. A run's loop stays until its end was acknowledged.
            (true, Some(_)) => SourceState::Ended,
            (true, None) => SourceState::Closed,
        }
    }

    fn poll(&mut self, deadline: Option<Instant>) -> io::Result<FrameStep> {
        if self.processed < self.pending.len() {
            self.process_slice();
            return Ok(FrameStep::Next);
        }
        match self.source.poll(deadline) {
            PollResult::Event(event) => self.take_event(event),
            PollResult::Woken => {
                self.take_refusals();
                self.pass_time();
            }
            PollResult::Over => self.over = true,
        }
        Ok(FrameStep::Next)
    }

    fn next_tick(&mut self) -> Option<Instant> {
        let paused = self.model.ui.replay.is_some_and(|replay| replay.paused || replay.over);
        let next_ms = self.model.next_change_ms().filter(|_| !paused)?;
        let speed = self.model.ui.replay.map_or(1.0, |replay| replay.speed);
        let wait_ms = next_ms.saturating_sub(self.source.now_ms());
        Some(Instant::now() + Duration::from_millis(wait_ms).div_f64(speed))
    }

    fn pass_time(&mut self) {
        let change = self.model.next_change_ms();
        self.model.advance(self.source.now_ms());
        self.terminal.ticked |= change.is_some_and(|change| change <= self.model.now_ms);
    }

    fn apply(&mut self, event: ScreenEvent) -> io::Result<FrameStep> {
        if matches!(event, ScreenEvent::DiffLoaded { .. }) {
            self.jobs.has_diffed();
        }
        self.model.now_ms = self.model.now_ms.max(self.source.now_ms());
        break_on_request(&event);
        self.update(event)
    }

    fn take_rendered(&mut self, rendered: RenderedTerminal) -> io::Result<FrameStep> {
        let event = match rendered {
            RenderedTerminal::Recording { iteration, screen } => {
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
                ScreenEvent::Played { iteration, result }
            }
            RenderedTerminal::Overlay { overlay, screen } => {
                let result = screen.map(|screen| self.played = Some(screen));
                ScreenEvent::Unfolded { overlay, result }
            }
        };
        self.finder = None;
        self.update(event)
    }

    fn signalled(&mut self, by: RequestedBy) -> io::Result<FrameStep> {
        let after = match &self.setup.reach {
            Some(reach) if !self.over => reach.signalled(by),
            Some(_) | None => AfterSignal::Leaves,
        };
        Ok(match after {
            AfterSignal::Stays => FrameStep::Next,
            AfterSignal::Leaves => FrameStep::Leave(ScreenExit::Signalled(by)),
        })
    }

    fn resumed(&mut self, away: Duration) {
        let away = short_duration(u64::try_from(away.as_millis()).unwrap_or(u64::MAX));
        let meanwhile = match &self.setup.reach {
            Some(reach) if reach.outlives_screen() => "; the run continued",
            Some(_) => "; ralph was suspended, its agent continued",
            None => "",
        };
        self.tell(Tone::Note, &format!("back after {away}{meanwhile}"));
    }

    fn returned(&mut self, failure: Option<String>) {
        let was_plan = matches!(self.edited.take(), Some(EditorDocument::Real(_)));
        match failure {
            Some(why) => self.tell(Tone::Bad, &why),
            None if was_plan && !self.model.run.is_over() => {
                self.tell(Tone::Note, "changes to the plan apply from the next iteration");
            }
            None => {}
        }
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        (self.model.ui.cols, self.model.ui.rows) = (cols, rows);
        self.fit();
        self.progress = Progress::None;
    }

    fn draw(&mut self) -> io::Result<()> {
        self.model.advance(self.source.now_ms());
        self.jobs.list_commits(&self.model);
        refresh_report(&mut self.model);
        self.live.catch_up();
        self.write_progress()?;
        let (version, kept) = &mut self.kept;
        let only_ticked = !self.terminal.dirty && *version == self.version;
        if !only_ticked {
            (*version, *kept) = (self.version, RefCell::default());
        }
        let screens = ShownTerminals {
            kept: only_ticked.then_some(&*kept),
            live: self.live.screen(),
            before: self.live.before(),
            played: self.played.as_deref(),
        };
        let (model, title) = (&self.model, view::window_title(&self.model));
        self.terminal
            .draw(&title, (model.ui.cols, model.ui.rows), |theme, frame| {
                view::draw(model, &screens, theme, frame);
            })
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
