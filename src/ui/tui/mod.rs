//! The screen: what a user looks at for hours.
//!
//! [`model`] is the fold of the records and of what the user does (`update`), `view` draws it; all three are pure.
//! `frame_loop` is the thread around them: it owns the terminal's cells and draws only when something has changed, at most
//! every 33 ms. Keys are looked at between slices of output, so a flood delays none.

mod background;
mod beside;
pub mod board;
mod cast;
mod clipboard;
pub(crate) mod editor;
mod find;
mod frame_loop;
mod inputs;
mod jobs;
pub mod keys;
pub(crate) mod layout;
mod lending;
mod lines;
mod memory;
pub mod model;
mod needle;
mod notify;
mod offers;
mod opening;
pub mod patch;
mod player;
mod screens;
mod skim;
mod source;
mod taken;
pub(crate) mod terminal;
#[cfg(test)]
mod testing;
pub(crate) mod theme;
mod typing;
pub(crate) mod update;
pub(crate) mod view;

use std::{path::PathBuf, sync::Arc};

use ralph_core::event::{Checkpoint, RequestedBy, UserCommand};
use ralph_system::proc::Size;

pub use frame_loop::{Left, run};
pub use layout::Layout;
pub use model::{Overlay, more};
pub use notify::{Notifier, shows_progress};
pub(super) use notify::{Reason, reason};
pub use player::Player;
pub use source::{Live, Source, Wake};
pub use taken::ScreenError;

/// What the patch of an iteration, or of several in a row, is made from: the trees before the first and after the last; without
/// one after it, the files as they are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRequest {
    pub since: u32,
    /// The last.
    pub iteration: u32,
    pub before: Checkpoint,
    pub after: Option<Checkpoint>,
}

/// Makes the text of a patch: stat first. Called off the screen's thread; may take its time.
pub type Differ = Arc<dyn Fn(&DiffRequest) -> Result<String, String> + Send + Sync>;

/// Names the recording of an iteration. Called off the screen's thread; may take its time.
pub type Recordings = Arc<dyn Fn(u32) -> PathBuf + Send + Sync>;

/// Renders an overlay for so many columns. Called off the screen's thread; may take its time.
pub type Unfolder = Arc<dyn Fn(Overlay, u16) -> Result<Vec<u8>, String> + Send + Sync>;

/// The loop behind a screen, in this process or in another.
pub trait Reach: Send + Sync {
    /// Asks the loop for something; what comes of it is in the records.
    ///
    /// # Errors
    /// Why the loop did not take it, in words.
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String>;

    /// Has a background task ended; that it is, is in the records.
    ///
    /// # Errors
    /// Why the loop did not take it, in words.
    fn cancel_task(&self, number: u32) -> Result<(), String>;

    /// Types into the running agent's terminal.
    fn type_bytes(&self, bytes: Vec<u8>);

    /// Tells the size of the pane that shows the agent's terminal.
    fn resize(&self, size: Size);

    /// Takes a signal that ends programs.
    fn signalled(&self, by: RequestedBy) -> AfterSignal;

    /// Whether the run goes on without this screen.
    fn outlives_screen(&self) -> bool;
}

/// What a signal that ends programs does to a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSignal {
    /// It stops the run, whose end is shown.
    Stays,
    Leaves,
}

/// What a screen is made of.
pub struct Setup {
    /// The loop; none for a replay.
    pub reach: Option<Arc<dyn Reach>>,
    pub theme: theme::Theme,
    pub mouse: bool,
    /// Adapters whose agents draw their terminal themselves; what is shown of the others is made from their signals.
    pub terminals: Vec<String>,
    pub differ: Differ,
    pub recordings: Recordings,
    pub unfolder: Unfolder,
    /// The project, if it is on this machine and what is shown is its run of today.
    pub project: Option<PathBuf>,
    /// The caller can continue a run that is over: [`Left::Continued`] is offered.
    pub continues: bool,
    /// Where sent messages are kept for the next run.
    pub remembered: Option<PathBuf>,
    /// How somebody who looks elsewhere is told that the run needs them.
    pub notifier: Notifier,
    /// The terminal shows how far the run is, apart from its cells.
    pub shows_progress: bool,
}
