//! State of a batch's screen: the board and the user's interaction with it.

use ralph_plan::batch::PlanName;
use ralph_words::Tone;
use ratatui::layout::{Position, Rect};

use crate::{
    board::Board,
    tui::keys::{BOARD, Binding, BindingScope, KeyAction},
};

use super::{Model, Toast, moment};

/// Minimum height for two rows in header and footer.
const TALL_ROWS: u16 = 16;
/// Minimum width for a separate column with the task.
const WIDE_COLS: u16 = 120;
/// Minimum width for the preview of the chosen plan, and the columns that it takes.
const PREVIEW_FROM_COLS: u16 = 160;
const PREVIEW_COLS: std::ops::RangeInclusive<u16> = 60..=90;
/// With fewer rows, only the plans are shown.
const SHARED_ROWS: u16 = 6;

/// The screen of a batch.
#[derive(Debug, Clone)]
pub struct BoardModel {
    pub board: Board,
    pub cols: u16,
    pub rows: u16,
    pub mouse: bool,
    /// The time that durations and countdowns refer to, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Offset of the user's time zone from UTC, in seconds.
    pub utc_offset_s: i64,
    /// Index of the selected plan.
    pub plan: usize,
    /// Index of the selected question.
    pub ask: usize,
    pub focus: BoardFocus,
    pub mode: BoardMode,
    pub toast: Option<Toast>,
}

/// The list that receives the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BoardFocus {
    #[default]
    Plans,
    Asks,
}

/// The mode, which decides the meaning of keys.
#[derive(Debug, Clone, Default)]
pub enum BoardMode {
    #[default]
    Normal,
    /// Asks whether to stop the batch or let it go on.
    Quit,
    /// Asks whether to cancel this plan.
    Cancel(PlanName),
    Help {
        top: usize,
    },
    /// The user answers a question of this plan's agent, in the same box as on the run's own screen.
    Answering {
        plan: PlanName,
        model: Box<Model>,
        /// Whether an answer was sent.
        sent: bool,
    },
}

/// A row of the screen: a plan or a question, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardSpot {
    Plan(usize),
    Ask(usize),
}

/// The rectangles of the board; areas without room are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardLayout {
    pub whole: Rect,
    pub header: Rect,
    /// A row of column names, then the plans.
    pub plans: Rect,
    /// The chosen plan, on a wide screen.
    pub preview: Rect,
    /// A title, then the open questions, or the next commands once the batch is over.
    pub below: Rect,
    pub footer: Rect,
    /// Whether tasks have a column of their own.
    pub is_wide: bool,
    /// Rows per plan: with enough room, its activity has a second row.
    pub rows_each: u16,
}

impl BoardModel {
    pub fn new(board: Board, (cols, rows): (u16, u16), now_ms: u64) -> BoardModel {
        BoardModel {
            board,
            cols,
            rows,
            mouse: false,
            now_ms,
            utc_offset_s: 0,
            plan: 0,
            ask: 0,
            focus: BoardFocus::default(),
            mode: BoardMode::default(),
            toast: None,
        }
    }

    pub fn layout(&self) -> BoardLayout {
        let (cols, rows) = (self.cols, self.rows);
        let bars = match rows {
            0..=2 => 0,
            3..TALL_ROWS => 1,
            TALL_ROWS.. => 2,
        };
        let between = rows - 2 * bars;
        let lines = match self.board.is_over() {
            true => self.board.hints.len(),
            false => self.board.asks.len(),
        };
        let lines = u16::try_from(lines).unwrap_or(u16::MAX);
        let below = match lines {
            0 => 0,
            _ if between < SHARED_ROWS => 0,
            lines => lines.min(between / 3) + 1,
        };
        let shared = Rect::new(0, bars, cols, between - below);
        let taken = match cols {
            PREVIEW_FROM_COLS.. => (cols * 3 / 8).clamp(*PREVIEW_COLS.start(), *PREVIEW_COLS.end()),
            _ => 0,
        };
        let plans = Rect {
            width: cols - taken,
            ..shared
        };
        let preview = Rect {
            x: plans.right(),
            width: taken,
            ..shared
        };
        let is_wide = plans.width >= WIDE_COLS;
        let count = u16::try_from(self.board.plans.len()).unwrap_or(u16::MAX);
        let is_roomy = count.saturating_mul(2) < plans.height;
        BoardLayout {
            whole: Rect::new(0, 0, cols, rows),
            header: Rect::new(0, 0, cols, bars),
            plans,
            preview,
            below: Rect::new(0, plans.bottom(), cols, below),
            footer: Rect::new(0, rows - bars, cols, bars),
            is_wide,
            rows_each: if is_roomy && !is_wide { 2 } else { 1 },
        }
    }

    /// Number of plans in view.
    pub fn page(&self) -> usize {
        let layout = self.layout();
        usize::from(layout.plans.height.saturating_sub(1) / layout.rows_each).max(1)
    }

    /// The first plan in view.
    pub fn first_plan(&self) -> usize {
        (self.plan + 1).saturating_sub(self.page())
    }

    /// Number of questions in view.
    pub fn ask_page(&self) -> usize {
        usize::from(self.layout().below.height.saturating_sub(1)).max(1)
    }

    /// The first question in view.
    pub fn first_ask(&self) -> usize {
        (self.ask + 1).saturating_sub(self.ask_page())
    }

    /// The plan or question at a position.
    pub fn spot_at(&self, column: u16, row: u16) -> Option<BoardSpot> {
        let layout = self.layout();
        let at = Position::new(column, row);
        let line = |area: Rect| usize::from(row - area.y).checked_sub(1);
        if layout.plans.contains(at) {
            let plan = self.first_plan() + line(layout.plans)? / usize::from(layout.rows_each);
            return (plan < self.board.plans.len()).then_some(BoardSpot::Plan(plan));
        }
        if layout.below.contains(at) {
            let ask = self.first_ask() + line(layout.below)?;
            return (ask < self.board.asks.len()).then_some(BoardSpot::Ask(ask));
        }
        None
    }

    /// The bindings that have an effect now.
    pub fn offered(&self) -> impl Iterator<Item = &'static Binding> + '_ {
        BOARD.iter().filter(|binding| match binding.action {
            KeyAction::Answer | KeyAction::NextFocus => !self.board.asks.is_empty(),
            _ => binding.when == BindingScope::Always || self.board.running,
        })
    }

    /// The time of day in the user's time zone, with the date if the moment is days away.
    pub fn clock(&self, at_ms: u64) -> String {
        moment(at_ms, self.now_ms, self.utc_offset_s)
    }

    pub fn toast(&mut self, tone: Tone, text: impl Into<String>) {
        self.toast = Some(Toast::new(tone, text, self.now_ms));
    }

    /// Advances the clock.
    pub fn advance(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        let is_past = |toast: &Toast| toast.until_ms <= self.now_ms;
        if self.toast.as_ref().is_some_and(is_past) {
            self.toast = None;
        }
        if let BoardMode::Answering { model, .. } = &mut self.mode {
            model.advance(now_ms);
        }
    }
}
