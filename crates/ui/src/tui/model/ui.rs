//! State of the user's interaction: the shown pane, typed text, open questions.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::event::{Checkpoint, SteeringId};
use ralph_state::store::signal_log::Unfold;
use ralph_words::{EventLine, Tone};

use crate::{
    report::{ChangedFiles, CommitLine, IterationFold, LineMark},
    tui::{
        editor::{Editor, Recall},
        layout::Focus,
        patch::Patch,
        search_query::LineMatch,
        theme::TextRole,
    },
};

use super::{
    answering::{AnswerBox, SettledMeanwhile},
    asks::AskList,
    messages::{Editing, Recalling},
};

/// Display time of a toast.
const TOAST_MS: u64 = 4_000;

/// The content of the main area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
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
    /// The state of the run, or why it is over.
    Report,
}

/// The mode, which decides the recipient of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InputMode {
    #[default]
    Normal,
    /// The user writes a message.
    Steering,
    /// The user searches earlier messages to send one again.
    Recalling(Recalling),
    Searching,
    /// Keys go to the agent's terminal.
    Typing,
    Asking(Confirmation),
    /// Asks which part of a terminal to copy.
    Copying,
    /// A question of the agent is shown.
    Answering(AnswerBox),
    /// The question was settled elsewhere before the user's answer was sent.
    TooLate(SettledMeanwhile),
    /// The user searches for an action by name.
    Palette(ActionSearch),
    /// The user writes a comment on a line.
    Commenting(CommentDraft),
    /// The comments are listed.
    Comments {
        chosen: usize,
    },
    Help {
        top: usize,
    },
}

impl InputMode {
    /// Whether a box over the panes receives the mouse.
    pub fn is_box(&self) -> bool {
        match self {
            InputMode::Normal
            | InputMode::Steering
            | InputMode::Searching
            | InputMode::Typing
            | InputMode::Commenting(_) => false,
            InputMode::Asking(_)
            | InputMode::Copying
            | InputMode::Recalling(_)
            | InputMode::Answering(_)
            | InputMode::TooLate(_)
            | InputMode::Palette(_)
            | InputMode::Comments { .. }
            | InputMode::Help { .. } => true,
        }
    }
}

/// A comment that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentDraft {
    pub subject: CommentSubject,
    pub editor: Editor,
}

/// The subject of a comment that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentSubject {
    /// A line of an iteration's result.
    Line { file: String, line: u32, iteration: u32 },
    /// A draft whose text is changed.
    Draft { number: u32 },
}

/// A search for actions by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionSearch {
    pub query: Editor,
    /// Index into the matches.
    pub chosen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Quit,
    /// Whether to withdraw a standing message, which is part of every prompt.
    Withdraw {
        id: SteeringId,
    },
    /// Whether to end this iteration.
    Skip {
        iteration: u32,
    },
    /// Whether to continue a finished run with a raised limit.
    More,
    /// Asks which limit to raise.
    RaiseLimit,
    /// Asks which agent and model the next iterations get.
    Worker,
    /// Asks to which checkpoint of the iteration the files are restored.
    Restore {
        iteration: u32,
    },
    /// Says what was restored, and offers to undo it.
    Restored,
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

/// The patch of one iteration or several in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffView {
    /// The last iteration; `None` until a patch is requested.
    pub iteration: Option<u32>,
    /// The first iteration, if there is more than one.
    pub since: Option<u32>,
    pub state: DiffState,
    pub top: usize,
    /// Columns scrolled out to the left.
    pub left: usize,
    /// Whether long lines are wrapped instead.
    pub wrap: bool,
    /// Whether the lines are in one column even where there is room for both sides.
    pub unified: bool,
    /// The line that is chosen, for a comment.
    pub cursor: Option<usize>,
}

impl DiffView {
    /// The first and last iteration of the patch.
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
pub struct HistoryView {
    /// Index into the run's iterations, counted from the newest.
    pub selected: usize,
    pub open: Option<Playback>,
    /// The result of the last restore of files: what it changed, or why nothing.
    pub restored: Option<Result<String, String>>,
}

/// The entries of the log that are shown in full, and not in a row each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogFold {
    pub all_unfolded: bool,
    /// The places of single ones among all entries.
    pub unfolded: BTreeSet<u64>,
}

impl LogFold {
    pub fn is_unfolded(&self, place: u64) -> bool {
        self.all_unfolded || self.unfolded.contains(&place)
    }

    /// Unfolds an entry, or folds it. If all are unfolded, all are folded.
    pub fn toggle(&mut self, place: u64) {
        if std::mem::take(&mut self.all_unfolded) {
            self.unfolded.clear();
        } else if !self.unfolded.remove(&place) {
            self.unfolded.insert(place);
        }
    }
}

/// An iteration shown in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playback {
    pub iteration: u32,
    /// State of its transcript.
    pub state: PlaybackState,
    pub part: IterationPart,
}

/// The parts of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IterationPart {
    #[default]
    Transcript,
    Diff,
    Goals,
    Messages,
    Subagents,
}

impl IterationPart {
    pub const ALL: [Self; 5] = [
        IterationPart::Transcript,
        IterationPart::Diff,
        IterationPart::Goals,
        IterationPart::Messages,
        IterationPart::Subagents,
    ];

    pub fn name(self) -> &'static str {
        match self {
            IterationPart::Transcript => "transcript",
            IterationPart::Diff => "diff",
            IterationPart::Goals => "goals",
            IterationPart::Messages => "messages",
            IterationPart::Subagents => "subagents",
        }
    }
}

impl Playback {
    pub fn new(iteration: u32) -> Self {
        Self {
            iteration,
            state: PlaybackState::Loading,
            part: IterationPart::default(),
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

/// The commits of iterations, by the numbers of the iterations.
pub type IterationCommits = BTreeMap<u32, Vec<CommitLine>>;

/// The report of the run, as last rendered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportPage {
    pub rows: Vec<PageRow>,
    pub fold: IterationFold,
    pub commits: IterationCommits,
    pub files: Option<ChangedFiles>,
    /// The width for which the rows are wrapped; `None` if the run has changed since.
    pub width: Option<u16>,
    /// Whether the end of the run has to be shown, once the user is not typing.
    pub due: bool,
    /// The pane before the end of the run opened the report; `None` if a key did.
    pub instead_of: Option<Pane>,
}

/// A row of a page. Continuation rows of a wrapped line have neither mark nor cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    pub mark: Option<LineMark>,
    pub indent: u16,
    pub pieces: Vec<(String, TextRole)>,
    pub cells: Vec<String>,
}

impl PageRow {
    /// A row without mark and cells.
    pub fn from_pieces(pieces: Vec<(String, TextRole)>) -> Self {
        Self {
            mark: None,
            indent: 0,
            pieces,
            cells: Vec::new(),
        }
    }

    pub fn text(&self) -> String {
        self.pieces.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// A text shown in place of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// Folded parts of an iteration's transcript.
    Folded { iteration: u32, what: Unfold },
    /// The prompt of an iteration.
    Prompt { iteration: u32 },
    /// The last output of a background task.
    Output { task: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOverlay {
    pub overlay: Overlay,
    pub state: PlaybackState,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    pub query: Editor,
    /// The result of the last search; `Some(None)` if nothing matched.
    pub found: Option<Option<LineMatch>>,
    /// The position when the search began, in a pane with its own lines.
    pub origin: Option<usize>,
    pub landed: Option<SearchPosition>,
}

/// The current match, in a pane with its own lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPosition {
    pub pane: Pane,
    pub focus: Focus,
    /// The position in the pane at the match. Another position means that the user has left the match.
    pub at: usize,
    pub line: usize,
    /// Its place among the matches of the line.
    pub occurrence: usize,
}

/// The state of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayState {
    pub speed: f64,
    pub paused: bool,
    pub over: bool,
}

/// The time span of a replayed run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// Milliseconds since the Unix epoch.
    pub from_ms: u64,
    pub until_ms: u64,
    /// The iterations' numbers and start times.
    pub iterations: Vec<(u32, u64)>,
    /// The checkpoints after iterations, including those that the replay has not reached.
    pub settled: BTreeMap<u32, Checkpoint>,
}

#[derive(Debug, Clone, Default)]
pub struct Ui {
    pub cols: u16,
    pub rows: u16,
    pub pane: Pane,
    pub focus: Focus,
    /// Whether the focused area has the room of both.
    pub zoomed: bool,
    pub mode: InputMode,
    /// The selected or first visible line of each pane.
    pub positions: BTreeMap<Pane, usize>,
    /// The first visible line of what is shown in place of a pane.
    pub opened_top: usize,
    /// Index of the selected task; `None` selects the current one.
    pub task: Option<usize>,
    /// The folded headings of the plan.
    pub folded: BTreeSet<String>,
    /// Lines of the log below the view; 0 follows the newest.
    pub log_below: usize,
    pub log_fold: LogFold,
    pub diff: DiffView,
    pub history: HistoryView,
    pub report: ReportPage,
    pub unfolded: Option<OpenOverlay>,
    /// The message shown in full.
    pub reading: Option<SteeringId>,
    pub asks: AskList,
    pub steering: Editor,
    pub editing: Option<Editing>,
    pub recall: Recall,
    pub search: Search,
    pub toast: Option<Toast>,
    /// The number of the newest question that the user has postponed.
    pub put_off: u32,
    /// Set for a replay.
    pub replay: Option<ReplayState>,
    pub timeline: Option<Timeline>,
    /// Whether the run continues without this screen.
    pub detaches: bool,
    /// Whether a run that has reached a limit can be continued from here with a raised one.
    pub continues: bool,
    /// Whether files can be restored from here.
    pub restores: bool,
    /// Whether the agent's output is a transcript and not drawn by a terminal program.
    pub transcript: bool,
    /// Bytes of output skipped because the screen was too slow.
    pub dropped_bytes: u64,
    /// Whether this screen notifies its user; `None` if it has no way to.
    pub notifies: Option<bool>,
    /// Whether mouse events are reported; if not, the terminal handles selection.
    pub mouse: bool,
}

impl Ui {
    /// Shows a line of the log as a toast, if it is important.
    pub fn announce(&mut self, line: EventLine, at_ms: u64) {
        match line.tone {
            Tone::User | Tone::Wait | Tone::Warning | Tone::Bad => self.toast(line.tone, line.text, at_ms),
            Tone::Start | Tone::Good | Tone::Note => {}
        }
    }

    pub fn toast(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        self.toast = Some(Toast::new(tone, text, now_ms));
    }

    /// The selected or first visible line of a pane.
    pub fn position(&self, pane: Pane) -> usize {
        self.positions.get(&pane).copied().unwrap_or(0)
    }

    /// Whether a playback, message or question is shown in place of a pane.
    fn is_opened(&self) -> bool {
        self.history.open.is_some() || self.asks.reading.is_some() || self.reading.is_some()
    }

    /// The selected or first visible line in the main area.
    pub fn line(&self) -> usize {
        match self.is_opened() {
            true => self.opened_top,
            false => self.position(self.pane),
        }
    }

    pub fn go_to(&mut self, line: usize) {
        match self.is_opened() {
            true => self.opened_top = line,
            false => _ = self.positions.insert(self.pane, line),
        }
    }

    /// Shows and focuses `pane` at its last position.
    pub fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.focus = Focus::Main;
        self.report.instead_of = None;
        self.close();
    }

    /// Closes the playback, overlay, message or question shown in place of a pane. Returns whether one was open.
    pub fn close(&mut self) -> bool {
        self.opened_top = 0;
        let [cursor, playback, ask, message, unfolded] = [
            self.diff.cursor.take().is_some(),
            self.history.open.take().is_some(),
            self.asks.reading.take().is_some(),
            self.reading.take().is_some(),
            self.unfolded.take().is_some(),
        ];
        cursor || playback || ask || message || unfolded
    }

    /// Whether the main area shows a terminal: the agent's or a replayed one.
    pub fn shows_cells(&self) -> bool {
        match (&self.unfolded, &self.history.open) {
            (Some(unfolded), _) => unfolded.state == PlaybackState::Loaded,
            (None, Some(open)) => open.part == IterationPart::Transcript && open.state == PlaybackState::Loaded,
            (None, None) => self.pane == Pane::Terminal,
        }
    }

    /// Whether that terminal is the agent's.
    pub fn shows_agent(&self) -> bool {
        self.pane == Pane::Terminal && self.unfolded.is_none()
    }
}
