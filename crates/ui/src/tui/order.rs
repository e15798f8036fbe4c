//! Events for the screen and orders from it.

use crossterm::event::Event as Input;
use ralph_core::event::{RequestedBy, StopRequest, UserCommand};
use ralph_plan::batch::PlanName;
use ralph_words::Tone;

use crate::report::ChangedFiles;

use super::{
    keys::KeyAction,
    looks::LookChange,
    model::{CopyPortion, IterationCommits, Model, Overlay},
    patch::Patch,
    search_query::{LineMatch, SearchDirection},
};

/// An event for the screen.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScreenEvent {
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
    /// Files were restored, or why not.
    Restored {
        result: Result<String, String>,
    },
    /// The commits of iterations were listed.
    CommitsListed {
        commits: IterationCommits,
        files: Option<ChangedFiles>,
    },
    /// A terminal was searched.
    Searched {
        found: Option<LineMatch>,
    },
}

/// An order to the shell around the pure parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScreenOrder {
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
    /// Scroll the shown terminal.
    Scroll(Scroll),
    /// Search the shown terminal for the query.
    Find(MatchTarget),
    /// Scroll the shown terminal back to the view at the start of the search.
    EndFind,
    /// Load the patch for the diff pane.
    LoadDiff,
    Play {
        iteration: u32,
    },
    /// Render an overlay.
    Unfold(Overlay),
    /// Open a document in the user's editor.
    Edit(EditTarget),
    /// Copy a text to the user's clipboard.
    Copy(String),
    /// Copy a part of the shown terminal.
    CopyFrom(CopyPortion),
    Restore(RestoreTarget),
    /// Store the messages for later runs.
    RememberMessages,
    Replay(Replay),
    /// Change how this screen looks, and remember it.
    Look(LookChange),
    Redraw,
    Suspend,
    /// Leave while the run goes on.
    Detach,
    /// Leave a finished run and continue it with a raised limit.
    Continue,
    Leave,
}

impl ScreenOrder {
    pub(super) fn by_user(command: UserCommand) -> Self {
        ScreenOrder::Command {
            command,
            by: RequestedBy::User,
        }
    }

    pub(super) fn stop(stop: StopRequest, by: RequestedBy) -> Self {
        ScreenOrder::Command {
            command: UserCommand::Stop { stop },
            by,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scroll {
    Up(usize),
    Down(usize),
    Top,
    Bottom,
}

impl Scroll {
    /// The scrolling of a key, for pages of `page` lines; `None` for other keys.
    pub(super) fn from_action(action: KeyAction, page: usize) -> Option<Self> {
        Some(match action {
            KeyAction::LineUp => Scroll::Up(1),
            KeyAction::LineDown => Scroll::Down(1),
            KeyAction::PageUp => Scroll::Up(page),
            KeyAction::PageDown => Scroll::Down(page),
            KeyAction::Top => Scroll::Top,
            KeyAction::Bottom => Scroll::Bottom,
            _ => return None,
        })
    }

    /// Moves an index that counts from the top, up to `last`.
    pub(super) fn downwards(self, at: usize, last: usize) -> usize {
        match self {
            Scroll::Up(lines) => at.saturating_sub(lines),
            Scroll::Down(lines) => at.saturating_add(lines).min(last),
            Scroll::Top => 0,
            Scroll::Bottom => last,
        }
    }
}

/// Shows why a key has no effect.
pub(super) fn refused(model: &mut Model, why: &str) -> Vec<ScreenOrder> {
    model.ui.toast(Tone::Note, why, model.now_ms);
    Vec::new()
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepDirection {
    Next,
    Previous,
}

/// An order to the shell around the board.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BoardOrder {
    /// Show a plan's run on its own screen.
    Open(PlanName),
    Cancel(PlanName),
    /// Stop all runs; a second order stops them at once.
    Stop,
    Answer {
        plan: PlanName,
        command: UserCommand,
    },
    Redraw,
    Suspend,
    /// Leave while the batch goes on.
    Detach,
    Leave,
}

/// A document to open in an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditTarget {
    /// The file of the plan.
    Plan,
    /// The full content of the shown terminal.
    Terminal,
    Text {
        /// End of the temporary file's name.
        name: &'static str,
        text: String,
    },
}

/// The match to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchTarget {
    /// The first from the start of the search, while the query is being typed.
    First,
    Next(SearchDirection),
}

/// The state to which files are restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreTarget {
    Before(u32),
    After(u32),
    /// The state before the last restore.
    Undo,
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
