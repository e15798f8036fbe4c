//! User interfaces of a run: the screen with what it is connected to, text without a screen.

pub(crate) mod attached;
pub(crate) mod front_end;
pub mod headless;
mod live;
pub(crate) mod notify;
pub(crate) mod presentation;
pub(crate) mod remote;
pub(crate) mod restorer;
pub(crate) mod signals;
pub(crate) mod summary;
pub(crate) mod terminal;
mod unfolded;

pub use presentation::{Presentation, ScreenOptions, looks_file};
