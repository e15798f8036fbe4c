//! User interfaces of a run: the screen, text without a screen, the report.

pub(crate) mod attached;
pub(crate) mod front_end;
pub mod headless;
mod notify;
pub(crate) mod presentation;
pub(crate) mod remote;

pub(crate) mod report;
pub(crate) mod signals;
pub(crate) mod summary;
pub(crate) mod terminal;
pub mod tui;
mod unfolded;

pub use presentation::{Presentation, ScreenOptions};
