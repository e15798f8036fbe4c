//! Everything the screen shows, as values: what the records say of the run, and what the user has done to the screen.
//!
//! The run's part is its [`RunView`], so a resumed run and a replay look like the run itself. The log is the screen's own.

mod answering;
mod asks;
mod estimate;
mod log;
mod ui;

pub use answering::{AnswerStep, Answering, Choosing, Subject, TooLate, are_marked, choices};
pub use asks::{AskList, Reading, ask_in_words, is_missed, listed, position, select};
pub use estimate::{estimate_ms, used_up};
pub use log::{Log, LogLine, Sign};
pub use ui::{Diff, DiffState, History, Mode, Pane, Playback, PlaybackState, Question, ReplayState, Search, Toast, Ui};

use crate::{
    event::{CommandRefusal, Event, Notice, Record},
    run::{Asks, Phase, RunView},
};

use super::layout::Layout;

/// The screen's state but for the cells of terminals.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub run: RunView,
    pub log: Log,
    pub asks: Asks,
    pub ui: Ui,
    /// The time that durations and countdowns refer to, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// What the user's clock is ahead of UTC, in seconds.
    pub utc_offset_s: i64,
}

impl Model {
    /// Takes a record into account.
    pub fn apply(&mut self, record: &Record) {
        self.now_ms = match record.event {
            // It may have been set back.
            Event::ClockMoved { .. } => record.at_ms,
            _ => self.now_ms.max(record.at_ms),
        };
        let offset_s = self.utc_offset_s;
        let clock = |at_ms| clock_time(at_ms, offset_s);
        self.run.apply(record);
        self.asks.apply(record, &self.run);
        let settled = match &record.event {
            Event::IterationSettled { iteration, .. } => self.run.iterations.numbered(*iteration),
            _ => None,
        };
        if let Some(line) = self.log.take(record, settled, clock) {
            self.ui.announce(line, record.at_ms);
        }
        // Said where the answer was given, and where it can be mended.
        if let Event::Noticed {
            notice: Notice::CommandRefused {
                refusal: CommandRefusal::Rule { ask, why },
            },
        } = &record.event
            && let Mode::Answering(answering) = &mut self.ui.mode
            && answering.ask == *ask
        {
            answering.refused = Some(why.clone());
            self.ui.toast = None;
        }
        // The end is told where notices are, and must not wait for one to pass.
        if let Event::RunStopped { .. } = record.event {
            self.ui.toast = None;
        }
    }

    pub fn layout(&self) -> Layout {
        Layout::of(self.ui.cols, self.ui.rows, self.run.plan.tasks.len())
    }

    /// The time of day on the user's clock.
    pub fn clock(&self, at_ms: u64) -> String {
        clock_time(at_ms, self.utc_offset_s)
    }

    /// When what is shown changes by the passing of time alone, in milliseconds since the Unix epoch.
    pub fn next_change_ms(&self) -> Option<u64> {
        let ticks = ticks_from_ms(&self.run).map(|from_ms| {
            let since_ms = self.now_ms.saturating_sub(from_ms);
            self.now_ms + 1000 - since_ms % 1000
        });
        let toast = self.ui.toast.as_ref().map(|toast| toast.until_ms);
        ticks.into_iter().chain(toast).min()
    }

    /// Forgets the run and its log, to be told from the beginning.
    pub fn forget_run(&mut self) {
        self.run = RunView::default();
        self.log = Log::default();
        self.asks = Asks::default();
    }

    /// Lets time pass. Returns whether something that is shown has ended by it.
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

/// The moment whole seconds are counted from, while anything that is shown counts them.
fn ticks_from_ms(run: &RunView) -> Option<u64> {
    match run.phase {
        Phase::Idle | Phase::Paused | Phase::Stopped { .. } => None,
        Phase::Preparing { .. }
        | Phase::Running { .. }
        | Phase::Cancelling { .. }
        | Phase::Settling { .. }
        | Phase::Verifying { .. } => Some(run.clock.started_ms),
        // Countdowns end at a whole second.
        Phase::Waiting { until_ms, .. } => Some(until_ms % 1000),
    }
}

fn clock_time(at_ms: u64, offset_s: i64) -> String {
    let seconds = i64::try_from(at_ms / 1000).unwrap_or(0).saturating_add(offset_s);
    let of_day = seconds.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", of_day / 3600, of_day % 3600 / 60, of_day % 60)
}
