//! What the user has done to the screen: which pane is shown, what is being typed, what is asked.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::event::{Checkpoint, SteeringId};
use ralph_words::{Line, Tone};

use super::{
    answering::{Answering, TooLate},
    asks::AskList,
    messages::{Editing, ReadMessage, Recalling},
};
use crate::{
    driver::Unfold,
    ui::report::Mark,
    ui::tui::{
        editor::{Editor, Recall},
        layout::Focus,
        needle::Match,
        patch::Patch,
        theme::Role,
    },
};

/// How long a toast is shown.
const TOAST_MS: u64 = 4_000;

/// What the main area shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    #[default]
    Terminal,
    Log,
    Diff,
    History,
    Messages,
    Asks,
    Limits,
    /// Background tasks.
    Background,
    /// How the run stands, or why it is over.
    Report,
}

/// Who gets the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Normal,
    /// The steering line is open.
    Steering,
    /// What was sent before is being searched, to be sent again.
    Recalling(Recalling),
    Searching,
    /// Keys go to the agent.
    Typing,
    Asking(Question),
    /// What of a terminal is to be copied is being asked.
    Copying,
    /// What the agent asks is on the screen.
    Answering(Answering),
    /// It was answered elsewhere, or is over, before the answer that was typed was sent.
    TooLate(TooLate),
    /// An action is being looked for by its name.
    Palette(ActionSearch),
    Help {
        top: usize,
    },
}

/// Actions by name, narrowed by what is typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionSearch {
    pub query: Editor,
    /// Index into what was found.
    pub chosen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Quit,
    /// Whether to take a message back that is in every prompt.
    Withdraw {
        id: SteeringId,
    },
    /// Whether to end the iteration of that number.
    Skip {
        iteration: u32,
    },
    /// Whether to continue a run that is over with more of what it has used up.
    More,
}

/// A short notice above the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub tone: Tone,
    pub text: String,
    pub until_ms: u64,
}

impl Toast {
    pub(super) fn new(tone: Tone, text: impl Into<String>, now_ms: u64) -> Self {
        Self {
            tone,
            text: text.into(),
            until_ms: now_ms + TOAST_MS,
        }
    }
}

/// The patch of one iteration, or of several in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The last of them; none before the first was asked for.
    pub iteration: Option<u32>,
    /// The first of them, where there is more than one.
    pub since: Option<u32>,
    pub state: DiffState,
    pub top: usize,
    /// Columns that are left of the view.
    pub left: usize,
    /// Long lines take several rows instead.
    pub wrap: bool,
}

impl Diff {
    /// The first and the last iteration that it is of.
    pub fn iterations(&self) -> Option<(u32, u32)> {
        let iteration = self.iteration?;
        Some((self.since.unwrap_or(iteration), iteration))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DiffState {
    #[default]
    None,
    Loading,
    Loaded(Patch),
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Index into the run's iterations, counted from the newest.
    pub selected: usize,
    pub open: Option<Playback>,
}

/// An iteration that is shown whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playback {
    pub iteration: u32,
    /// How far its transcript is.
    pub state: PlaybackState,
    pub part: Part,
    /// First line in view, where the part has lines.
    pub top: usize,
}

/// What there is to see of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    #[default]
    Transcript,
    Diff,
    Goals,
    Messages,
}

impl Part {
    pub const ALL: [Self; 4] = [Part::Transcript, Part::Diff, Part::Goals, Part::Messages];

    pub fn name(self) -> &'static str {
        match self {
            Part::Transcript => "transcript",
            Part::Diff => "diff",
            Part::Goals => "goals",
            Part::Messages => "messages",
        }
    }
}

impl Playback {
    pub fn new(iteration: u32) -> Self {
        Self {
            iteration,
            state: PlaybackState::Loading,
            part: Part::default(),
            top: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaybackState {
    Loading,
    Loaded,
    Failed(String),
}

impl From<Result<(), String>> for PlaybackState {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Loaded)
    }
}

/// The report of the run, as it was drawn up last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportPage {
    pub rows: Vec<ReportRow>,
    /// The width that the rows are broken for; none if the run is another one since.
    pub width: Option<u16>,
    pub top: usize,
    /// The run is over, and its end is to be shown as soon as nothing is being typed.
    pub due: bool,
    /// What it took the place of, where the end of the run showed it and not a key.
    pub instead_of: Option<Pane>,
}

impl ReportPage {
    /// How many rows are below the view.
    pub fn below(&self, height: u16) -> usize {
        self.rows.len().saturating_sub(self.top + usize::from(height))
    }
}

/// A line of the report as it is shown. The further ones of a line that was broken have no mark and no cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    pub(crate) mark: Option<Mark>,
    pub indent: u16,
    pub pieces: Vec<(String, Role)>,
    pub cells: Vec<String>,
}

/// A text that is shown in place of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// Folded parts of an iteration's transcript.
    Folded { iteration: u32, what: Unfold },
    /// The prompt of an iteration.
    Prompt { iteration: u32 },
    /// The last output of a background task.
    Output { task: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    pub overlay: Overlay,
    pub state: PlaybackState,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    pub query: Editor,
    /// What the last one came to; none inside if it found nothing.
    pub(crate) found: Option<Option<Match>>,
    /// Where somebody was when the line was opened, in a pane with lines of its own.
    pub origin: Option<usize>,
    pub(crate) landed: Option<Landed>,
}

impl Search {
    /// Whether the last one found nothing.
    pub fn missed(&self) -> bool {
        self.found == Some(None)
    }
}

/// A match that was gone to, in a pane with lines of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Landed {
    pub(crate) pane: Pane,
    pub(crate) focus: Focus,
    /// Where in the pane somebody was then. Who is elsewhere has left the match.
    pub(crate) at: usize,
    pub(crate) line: usize,
}

/// A run that is played again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayState {
    pub speed: f64,
    pub paused: bool,
    pub over: bool,
}

/// When a run that is played was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// Milliseconds since the Unix epoch.
    pub from_ms: u64,
    pub until_ms: u64,
    /// Numbers of the iterations, and when each began.
    pub iterations: Vec<(u32, u64)>,
    /// The checkpoints after iterations, also after those that the replay has not come to.
    pub settled: BTreeMap<u32, Checkpoint>,
}

#[derive(Debug, Clone, Default)]
pub struct Ui {
    pub cols: u16,
    pub rows: u16,
    pub pane: Pane,
    pub focus: Focus,
    /// What has the focus has the room of both areas.
    pub zoomed: bool,
    pub mode: Mode,
    /// The chosen task, by its place in the plan; the current one if it is none.
    pub task: Option<usize>,
    /// The headings of the plan that are folded.
    pub folded: BTreeSet<String>,
    /// Lines of the log below the view; 0 follows the newest.
    pub log_below: usize,
    pub diff: Diff,
    pub history: History,
    pub report: ReportPage,
    pub unfolded: Option<Unfolded>,
    /// Index into the messages, counted from the newest.
    pub message: usize,
    pub reading: Option<ReadMessage>,
    /// First line of the limits in view.
    pub limits_top: usize,
    pub asks: AskList,
    /// Index into the background tasks, counted from the newest.
    pub background: usize,
    pub steering: Editor,
    pub editing: Option<Editing>,
    pub recall: Recall,
    pub search: Search,
    pub toast: Option<Toast>,
    /// The newest question of the agent's that was left for later.
    pub put_off: u32,
    /// Set when this is no running loop.
    pub replay: Option<ReplayState>,
    pub timeline: Option<Timeline>,
    /// The run goes on without this screen.
    pub detaches: bool,
    /// A run that has used up a limit can be continued from here with more.
    pub continues: bool,
    /// The agent's output is a transcript, not a terminal program.
    pub transcript: bool,
    /// Output that was left out because it could not be shown in time.
    pub dropped_bytes: u64,
    /// Where the mouse reports to; off leaves selection to the terminal.
    pub mouse: bool,
}

impl Ui {
    /// Shows a line of the log for a while to who does not look at the log.
    pub fn announce(&mut self, line: Line, at_ms: u64) {
        match line.tone {
            Tone::User | Tone::Wait | Tone::Warning | Tone::Bad => self.toast(line.tone, line.text, at_ms),
            Tone::Start | Tone::Good | Tone::Note => {}
        }
    }

    pub fn toast(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        self.toast = Some(Toast::new(tone, text, now_ms));
    }

    /// Shows `pane` from where it was left, and has it take the keys.
    pub fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.focus = Focus::Main;
        self.report.instead_of = None;
        self.close();
    }

    /// Closes what is shown in place of a pane; returns whether there was anything.
    pub fn close(&mut self) -> bool {
        let [playback, ask, message, unfolded] = [
            self.history.open.take().is_some(),
            self.asks.reading.take().is_some(),
            self.reading.take().is_some(),
            self.unfolded.take().is_some(),
        ];
        playback || ask || message || unfolded
    }

    /// What of the main area is a terminal: the agent's, or a played one.
    pub fn shows_cells(&self) -> bool {
        if let Some(unfolded) = &self.unfolded {
            return unfolded.state == PlaybackState::Loaded;
        }
        match self.pane {
            Pane::Terminal => true,
            Pane::History => {
                self.history.open.as_ref().is_some_and(|playback| {
                    playback.part == Part::Transcript && playback.state == PlaybackState::Loaded
                })
            }
            Pane::Log | Pane::Diff | Pane::Messages | Pane::Asks | Pane::Limits | Pane::Background | Pane::Report => {
                false
            }
        }
    }
}
