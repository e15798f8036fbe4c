//! The screen's state as values: the view of the run, and the user's interaction.
//!
//! The state of the run is its [`RunView`], so a resumed run and a replay look like the original. The log belongs to
//! the screen.

mod agent_activity;
mod agent_text;
mod answering;
mod asks;
mod background;
mod board;
mod estimate;
mod iteration_task;
mod log;
mod messages;
mod outline;
mod parts;
mod ui;

pub use agent_activity::{AgentActivity, Silence};
pub use agent_text::AgentText;
pub use answering::{AnswerBox, AnswerStep, ChoiceSelection, SettledMeanwhile, are_marked, choices};
pub use asks::{AskList, ask_in_words, is_missed, listed, position, select};
pub use background::background_at;
pub use board::{BoardFocus, BoardLayout, BoardMode, BoardModel, BoardSpot};
pub use estimate::{estimate_ms, more, used_up};
pub use iteration_task::iteration_task;
pub use log::{EventLog, LogFilter, LogLine, LogLineKind};
pub use messages::{Editing, Recalling};
pub use outline::{PlanRow, has_sections, heading_of};
pub use parts::{CopyPortion, PORTIONS};
use ralph_core::{
    event::{AgentEvent, CommandRefusal, Event, IterationEvent, Record, RunEvent, TimeEvent},
    run::{Asks, Message, Phase, RunView},
};
use ralph_state::control::frames::SignalDetail;
use ralph_system::proc::Size;
use ralph_words::date_ahead;
use ratatui::layout::Rect;
pub use ui::SearchPosition;
pub use ui::{
    ActionSearch, CommentDraft, CommentSubject, Confirmation, DiffState, DiffView, HistoryView, InputMode,
    IterationCommits, IterationPart, LogFold, OpenOverlay, Overlay, PageRow, Pane, Playback, PlaybackState,
    ReplayState, ReportPage, Search, Timeline, Toast, Ui,
};

use super::{
    editor::Editor,
    layout::{Focus, ScreenLayout},
};

/// Minimum width of a screen, and of a patch in it, for both sides beside each other.
const SIDES_FROM_COLS: u16 = 160;
pub const SIDES_COLS: u16 = 100;

/// The screen's state, except for the cells of terminals.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub run: RunView,
    pub log: EventLog,
    pub agent_text: AgentText,
    pub asks: Asks,
    pub activity: AgentActivity,
    pub ui: Ui,
    /// The time that durations and countdowns refer to, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Offset of the user's time zone from UTC, in seconds.
    pub utc_offset_s: i64,
}

impl Model {
    /// Applies a record.
    pub fn apply(&mut self, record: &Record) {
        self.now_ms = match record.event {
            // The clock may have been set back.
            Event::Time(TimeEvent::ClockMoved { .. }) => record.at_ms,
            _ => self.now_ms.max(record.at_ms),
        };
        let offset_s = self.utc_offset_s;
        let now_ms = self.now_ms;
        let clock = |at_ms| moment(at_ms, now_ms, offset_s);
        self.run.apply(record);
        self.asks.apply(record, &self.run);
        self.activity.apply(record);
        if let Event::Agent(AgentEvent::Reported { iteration, signal }) = &record.event {
            self.agent_text.note_signal(*iteration, signal);
        }
        let settled = match &record.event {
            Event::Iteration(IterationEvent::Settled { iteration, .. }) => self.run.iterations.numbered(*iteration),
            _ => None,
        };
        if let Some(line) = self.log.take(record, settled, clock) {
            self.ui.announce(line, record.at_ms);
        }
        // The refusal is shown in the answer box, where the user can correct the answer.
        if let Event::Run(RunEvent::CommandRefused {
            refusal: CommandRefusal::Rule { ask, why },
            ..
        }) = &record.event
            && let InputMode::Answering(answering) = &mut self.ui.mode
            && answering.ask == *ask
        {
            answering.refused = Some(why.to_string());
            self.ui.toast = None;
        }
        // The end uses the place of toasts and must not wait for one to expire.
        match record.event {
            Event::Run(RunEvent::Stopped { .. }) => {
                // All these questions assume a run that goes on.
                if matches!(self.ui.mode, InputMode::Asking(_)) {
                    self.ui.mode = InputMode::Normal;
                }
                self.ui.toast = None;
                self.ui.report.due = self.ui.replay.is_none();
            }
            Event::Run(RunEvent::Reopened { .. }) | Event::Run(RunEvent::Resumed { .. }) => {
                self.ui.report.due = false;
                if let Some(pane) = self.ui.report.instead_of {
                    // The run was resumed elsewhere. An answer that was begun here stays open.
                    if let InputMode::Answering(answering) = &self.ui.mode
                        && answering.step.line().is_some_and(Editor::is_empty)
                    {
                        self.ui.mode = InputMode::Normal;
                    }
                    self.ui.show(pane);
                }
            }
            _ => {}
        }
        // Reports of the agent do not change the report page until its iteration ends.
        if !matches!(record.event, Event::Agent(AgentEvent::Reported { .. })) {
            self.ui.report.width = None;
        }
    }

    /// Applies a detail, which is not a record.
    pub fn tell(&mut self, detail: &SignalDetail) {
        self.activity.note_output(detail.at_ms);
        self.log.tell(detail);
        self.agent_text.note_signal(detail.iteration, &detail.signal);
    }

    pub fn layout(&self) -> ScreenLayout {
        let layout = self.shared_layout();
        match (self.ui.zoomed, self.ui.shows_cells()) {
            (true, _) => layout.zoomed(self.ui.focus),
            (false, true) => layout,
            // Beside other panes, the log would be a third column of text.
            (false, false) => layout.without_aside(),
        }
    }

    /// The layout without zoom.
    fn shared_layout(&self) -> ScreenLayout {
        ScreenLayout::new(self.ui.cols, self.ui.rows, self.run.plan.tasks.len())
    }

    /// The size of the agent's terminal. It does not change with the shown pane, nor while a zoomed plan hides it.
    pub fn pane(&self) -> Size {
        match self.ui.focus {
            Focus::Main if self.ui.zoomed => self.layout().pane(),
            Focus::Main | Focus::Plan => self.shared_layout().pane(),
        }
    }

    /// The main area without the row that names the parts of an open iteration.
    pub fn content_area(&self) -> Rect {
        let main = self.layout().main;
        let head = u16::from(self.ui.history.open.is_some()).min(main.height);
        Rect::new(main.x, main.y + head, main.width, main.height - head)
    }

    /// Whether both sides of a diff can be shown beside each other.
    pub fn has_room_for_sides(&self) -> bool {
        self.ui.cols >= SIDES_FROM_COLS && self.content_area().width >= SIDES_COLS
    }

    /// Whether the files can be restored now: the loop must not be working on them.
    pub fn can_restore(&self) -> bool {
        self.ui.restores && (self.run.is_over() || self.ui.replay.is_some())
    }

    /// The iteration selected in the history, or the latest in other panes.
    pub fn chosen_iteration(&self) -> Option<u32> {
        let iterations = &self.run.iterations;
        let chosen = match self.ui.pane {
            Pane::History => iterations.rows.iter().rev().nth(self.ui.history.selected),
            _ => iterations.latest(),
        };
        chosen.map(|iteration| iteration.number)
    }

    /// Index of the selected task, or else of the current one.
    pub fn task_at(&self) -> Option<usize> {
        let tasks = &self.run.plan.tasks;
        let chosen = self.ui.task.map(|at| at.min(tasks.len().saturating_sub(1)));
        chosen.or_else(|| {
            let current = self.run.task()?;
            tasks.iter().position(|task| task == current)
        })
    }

    /// The visible rows of the plan.
    pub fn plan_rows(&self) -> Vec<PlanRow> {
        match self.layout().has_strip() {
            true => outline::flat(&self.run.plan),
            false => outline::outline(&self.run.plan, &self.ui.folded),
        }
    }

    /// The time of day in the user's time zone, with the date if the moment is days away.
    pub fn clock(&self, at_ms: u64) -> String {
        moment(at_ms, self.now_ms, self.utc_offset_s)
    }

    /// The next moment at which the screen changes by the clock alone, in milliseconds since the Unix epoch.
    pub fn next_change_ms(&self) -> Option<u64> {
        let ticks = ticks_from_ms(&self.run).map(|from_ms| {
            let since_ms = self.now_ms.saturating_sub(from_ms);
            self.now_ms + 1000 - since_ms % 1000
        });
        let toast = self.ui.toast.as_ref().map(|toast| toast.until_ms);
        ticks.into_iter().chain(toast).min()
    }

    /// Resets the run and its log, to be applied again from the beginning.
    pub fn forget_run(&mut self) {
        self.run = RunView::default();
        self.log = EventLog::with_filter(self.log.kind());
        self.agent_text = AgentText::default();
        self.asks = Asks::default();
        self.activity = AgentActivity::default();
        self.ui.log_fold.unfolded.clear();
        self.ui.reading = None;
        self.ui.opened_top = 0;
    }

    /// Advances the clock and removes an expired toast.
    pub fn advance(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        if self
            .ui
            .toast
            .as_ref()
            .is_some_and(|toast| toast.until_ms <= self.now_ms)
        {
            self.ui.toast = None;
        }
    }
}

/// The message shown in full, or else the selected one.
pub fn message_at(model: &Model) -> Option<&Message> {
    let mut newest_first = model.run.messages.iter().rev();
    match model.ui.reading {
        Some(id) => newest_first.find(|message| message.id == id),
        None => newest_first.nth(model.ui.position(Pane::Messages)),
    }
}

/// Whether a message can still be edited.
pub fn can_be_edited(model: &Model, message: &Message) -> bool {
    message.is_due() && !model.run.is_over() && model.ui.replay.is_none()
}

/// The moment from which shown seconds are counted; `None` while no clock is shown.
fn ticks_from_ms(run: &RunView) -> Option<u64> {
    match run.phase {
        Phase::Idle | Phase::Paused | Phase::Stopped { .. } => None,
        // Countdowns end at a whole second.
        Phase::Waiting { until_ms, .. } => Some(until_ms % 1000),
        _ => Some(run.clock.started_ms),
    }
}

fn moment(at_ms: u64, now_ms: u64, offset_s: i64) -> String {
    let date = date_ahead(at_ms, now_ms, offset_s);
    let seconds = i64::try_from(at_ms / 1000).unwrap_or(0).saturating_add(offset_s);
    let of_day = seconds.rem_euclid(86_400);
    format!(
        "{date}{:02}:{:02}:{:02}",
        of_day / 3600,
        of_day % 3600 / 60,
        of_day % 60
    )
}
