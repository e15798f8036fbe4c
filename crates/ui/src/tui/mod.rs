//! The screen: the interactive view of a run.
//!
//! [`model`] is the fold of the records and of the user's input (`update`), and `view` draws it; all three are pure.
//! `run_screen` is the thread around them, and `board` that of a batch; both run in `screen_loop`. Keys are checked
//! between slices of output, so that a flood does not delay them.

mod append_only;
mod background;
pub mod board;
mod boxes;
mod cast;
mod clipboard;
mod editor;
mod external_editor;
mod hints;
mod inputs;
mod jobs;
pub mod keys;
mod layout;
pub mod looks;
mod memory;
pub mod model;
mod notify;
mod offers;
mod order;
mod panes;
pub mod patch;
mod pen;
mod player;
mod request;
mod run_screen;
mod screen_loop;
mod screen_terminal;
mod screens;
mod search_query;
mod shell;
mod source;
mod spawn;
pub mod terminal;
mod terminal_ownership;
mod terminal_search;
#[cfg(test)]
mod testing;
pub mod theme;
mod typing;
mod update;
mod view;

use std::{path::PathBuf, sync::Arc};

use ralph_core::{
    event::{Checkpoint, RequestedBy, UserCommand},
    run::RunView,
};
use ralph_system::proc::Size;

use crate::report::ChangedFiles;

pub use layout::ScreenLayout;
pub use model::{IterationCommits, Overlay, more};
pub use notify::{NotifyChannel, shows_progress};
pub use notify::{Reason, bytes as notification_bytes, reason};
pub use order::RestoreTarget;
pub use player::Player;
pub use run_screen::run;
pub use screen_loop::ScreenExit;
pub use screen_terminal::ScreenError;
pub use source::{EventSource, PastRecords, WakeCallback};

/// The two trees whose difference is the patch of one iteration or several in a row. Without a tree after them, the
/// current files are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRequest {
    pub since: u32,
    /// The last iteration.
    pub iteration: u32,
    pub before: Checkpoint,
    pub after: Option<Checkpoint>,
    /// The plan, which comes last.
    pub plan: PathBuf,
}

/// Produces the text of a patch, statistics first. Called off the screen's thread; may block.
pub type PatchSource = Arc<dyn Fn(&DiffRequest) -> Result<String, String> + Send + Sync>;

/// Locates the recording of an iteration. Called off the screen's thread; may block.
pub type Recordings = Arc<dyn Fn(u32) -> PathBuf + Send + Sync>;

/// Renders an overlay for a width in columns. Called off the screen's thread; may block.
pub type Unfolder = Arc<dyn Fn(&Overlay, u16) -> Result<Vec<u8>, String> + Send + Sync>;

/// Lists the commits of iterations, by the numbers of the iterations, and the files that the run changed. Called off the
/// screen's thread; may block.
pub type CommitSource = Arc<dyn Fn(&RunView) -> (IterationCommits, Option<ChangedFiles>) + Send + Sync>;

/// Restores the files of the project, and says what was changed. Called off the screen's thread; may block.
pub type Restorer = Arc<dyn Fn(RestoreTarget) -> Result<String, String> + Send + Sync>;

/// The loop behind a screen, in this process or another.
pub trait LoopControl: Send + Sync {
    /// Sends a command to the loop. Its effect appears in the records.
    ///
    /// # Errors
    /// The loop's reason for the refusal, in words.
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String>;

    /// Ends a background task. Its end appears in the records.
    ///
    /// # Errors
    /// The loop's reason for the refusal, in words.
    fn cancel_task(&self, number: u32) -> Result<(), String>;

    /// Types into the running agent's terminal.
    fn type_bytes(&self, bytes: Vec<u8>);

    /// Reports the size of the pane that shows the agent's terminal.
    fn resize(&self, size: Size);

    /// Handles a terminating signal.
    fn signalled(&self, by: RequestedBy) -> AfterSignal;

    /// Whether the run continues without this screen.
    fn outlives_screen(&self) -> bool;
}

/// The effect of a terminating signal on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSignal {
    /// The signal stops the run; the screen stays to show its end.
    Stays,
    Leaves,
}

/// The settings of a screen.
pub struct Setup {
    /// The loop; `None` for a replay.
    pub reach: Option<Arc<dyn LoopControl>>,
    pub theme: theme::Theme,
    pub mouse: bool,
    /// Adapters whose agents draw their own terminal; the output of others is rendered from their signals.
    pub terminals: Vec<String>,
    pub differ: PatchSource,
    pub recordings: Recordings,
    pub unfolder: Unfolder,
    /// `None` for a run on another machine.
    pub commits: Option<CommitSource>,
    /// `None` for a run on another machine.
    pub restorer: Option<Restorer>,
    /// The project; `None` for a replay or a run on another machine.
    pub project: Option<PathBuf>,
    /// Whether the caller can continue a finished run: then [`ScreenExit::Continued`] is offered.
    pub continues: bool,
    /// The file that stores sent messages for later runs.
    pub remembered: Option<PathBuf>,
    /// The file that stores how the user wants screens to look.
    pub looks: Option<PathBuf>,
    /// The way to notify the user when the run needs attention.
    pub notifier: NotifyChannel,
    /// Whether the terminal can show a progress indicator.
    pub shows_progress: bool,
}
