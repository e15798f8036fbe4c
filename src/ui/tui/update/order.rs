//! What reaches the screen, and what it asks for.

use crossterm::event::Event as Input;
use ralph_core::event::{RequestedBy, StopRequest, UserCommand};
use ralph_words::Tone;

use crate::ui::tui::{
    keys::Action,
    model::{Model, Overlay, Portion},
    needle::{Direction, Match},
    patch::Patch,
};

/// Something that happened to the screen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScreenEvent {
    Input(Input),
    DiffLoaded {
        since: u32,
        iteration: u32,
        patch: Result<Patch, String>,
    },
    /// A recording was read.
    Played {
        iteration: u32,
        result: Result<(), String>,
    },
    /// An overlay was rendered.
    Unfolded {
        overlay: Overlay,
        result: Result<(), String>,
    },
    /// A terminal was searched.
    Searched {
        found: Option<Match>,
    },
}

/// What the shell around the pure parts has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Command {
        command: UserCommand,
        by: RequestedBy,
    },
    /// End a background task.
    CancelTask {
        number: u32,
    },
    /// Keys and pastes for the agent's terminal.
    Type(Input),
    /// Scroll the terminal that is shown.
    Scroll(Scroll),
    /// Look for the query in the terminal that is shown.
    Find(Wanted),
    /// Show of it what was in view when the search began.
    EndFind,
    /// Make the patch of the iterations that the pane is about.
    LoadDiff,
    Play {
        iteration: u32,
    },
    /// Render an overlay.
    Unfold(Overlay),
    /// Open something in the user's editor.
    Edit(Edited),
    /// Copy a text to the user's clipboard.
    Copy(String),
    /// The same with what a terminal shows.
    CopyFrom(Portion),
    /// Keep the messages for the next run.
    RememberMessages,
    Replay(Replay),
    Redraw,
    Suspend,
    /// Leave a run that goes on.
    Detach,
    /// Leave a run that is over to continue it with more of what it has used up.
    Continue,
    Leave,
}

impl Order {
    pub(in crate::ui::tui) fn by_user(command: UserCommand) -> Self {
        Order::Command {
            command,
            by: RequestedBy::User,
        }
    }

    pub(super) fn stop(stop: StopRequest, by: RequestedBy) -> Self {
        Order::Command {
            command: UserCommand::Stop { stop },
            by,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    Up(usize),
    Down(usize),
    Top,
    Bottom,
}

impl Scroll {
    /// What a key scrolls where a page has `page` lines; none for keys of another kind.
    pub(super) fn of(action: Action, page: usize) -> Option<Self> {
        Some(match action {
            Action::LineUp => Scroll::Up(1),
            Action::LineDown => Scroll::Down(1),
            Action::PageUp => Scroll::Up(page),
            Action::PageDown => Scroll::Down(page),
            Action::Top => Scroll::Top,
            Action::Bottom => Scroll::Bottom,
            _ => return None,
        })
    }

    /// Moves an index that grows downwards and is `last` at most.
    pub(super) fn downwards(self, at: usize, last: usize) -> usize {
        match self {
            Scroll::Up(lines) => at.saturating_sub(lines),
            Scroll::Down(lines) => at.saturating_add(lines).min(last),
            Scroll::Top => 0,
            Scroll::Bottom => last,
        }
    }

    /// Moves an index that grows upwards, from the newest of `count`.
    pub(super) fn upwards(self, at: usize, count: usize) -> usize {
        let last = count.saturating_sub(1);
        last.saturating_sub(self.downwards(last.saturating_sub(at), last))
    }
}

/// Says why a key does nothing here.
pub(super) fn refused(model: &mut Model, why: &str) -> Vec<Order> {
    model.ui.toast(Tone::Note, why, model.now_ms);
    Vec::new()
}

/// To what comes next, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Next,
    Previous,
}

/// What is opened in an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The file itself.
    Plan,
    /// All that the terminal that is shown has.
    Terminal,
    Text {
        /// How the name of its file ends.
        name: &'static str,
        text: String,
    },
}

/// Which match is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first from where the search began, for a query that is being typed.
    First,
    Next(Direction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    PauseOrResume,
    Faster,
    Slower,
    NextIteration,
    PreviousIteration,
    Seek(Seek),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    Forward,
    Backward,
}
