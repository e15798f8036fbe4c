//! What the user has done to the screen: which pane is shown, what is being typed, what is asked.

use super::{
    answering::{Answering, TooLate},
    asks::AskList,
};
use crate::{
    ui::tui::editor::{Editor, Recall},
    words::{Line, Tone},
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
}

/// Who gets the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Normal,
    /// The steering line is open.
    Steering,
    Searching,
    /// Keys go to the agent.
    Typing,
    Asking(Question),
    /// What the agent asks is on the screen.
    Answering(Answering),
    /// It was answered elsewhere, or is over, before the answer that was typed was sent.
    TooLate(TooLate),
    Help {
        top: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Quit,
    /// Whether to end the iteration of that number.
    Skip {
        iteration: u32,
    },
}

/// A short notice above the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub tone: Tone,
    pub text: String,
    pub until_ms: u64,
}

/// The patch of one iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// None before the first was asked for.
    pub iteration: Option<u32>,
    pub state: DiffState,
    pub top: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DiffState {
    #[default]
    None,
    Loading,
    /// Lines of stat and patch, safe to show.
    Loaded(Vec<String>),
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Index into the run's iterations, counted from the newest.
    pub selected: usize,
    pub open: Option<Playback>,
}

/// A past iteration's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playback {
    pub iteration: u32,
    pub state: PlaybackState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaybackState {
    Loading,
    Loaded,
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    pub query: Editor,
    /// The last search found nothing.
    pub missed: bool,
}

/// A run that is played again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayState {
    pub speed: f64,
    pub paused: bool,
    pub over: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Ui {
    pub cols: u16,
    pub rows: u16,
    pub pane: Pane,
    pub mode: Mode,
    /// Lines of the log below the view; 0 follows the newest.
    pub log_below: usize,
    pub diff: Diff,
    pub history: History,
    /// Index into the messages, counted from the newest.
    pub message: usize,
    pub asks: AskList,
    pub steering: Editor,
    pub recall: Recall,
    pub search: Search,
    pub toast: Option<Toast>,
    /// The newest question of the agent's that was left for later.
    pub put_off: u32,
    /// Set when this is no running loop.
    pub replay: Option<ReplayState>,
    /// The run goes on without this screen.
    pub detaches: bool,
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
            Tone::User | Tone::Wait | Tone::Bad => self.toast(line.tone, line.text, at_ms),
            Tone::Start | Tone::Good | Tone::Note => {}
        }
    }

    pub fn toast(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        self.toast = Some(Toast {
            tone,
            text: text.into(),
            until_ms: now_ms + TOAST_MS,
        });
    }

    /// Shows `pane` from where it was left.
    pub fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.history.open = None;
        self.asks.reading = None;
    }

    /// What of the main area is a terminal: the agent's, or a played one.
    pub fn shows_cells(&self) -> bool {
        match self.pane {
            Pane::Terminal => true,
            Pane::History => self
                .history
                .open
                .as_ref()
                .is_some_and(|playback| playback.state == PlaybackState::Loaded),
            Pane::Log | Pane::Diff | Pane::Messages | Pane::Asks | Pane::Limits => false,
        }
    }
}
