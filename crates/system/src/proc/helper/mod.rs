//! Runs a short program that ralph needs itself: git, an agent's `--version`, a notification.
//!
//! A helper is trusted no more than an agent: git runs the filters that an agent may have configured. So it runs below
//! a guard as well. A ralph has one guard for all helpers, `ralph __guard --helpers`, started with the first one. The
//! guard is a sub-reaper and the parent of every helper: a child that it did not start is an orphan and is ended, at
//! the latest with the helper that left it behind. When ralph dies or exits, the guard ends all helpers. Until then it
//! holds the locks of their work (`hold`).
//!
//! Before changing anything here, note: no process is recognised by its environment, name or session, all of which an
//! orphan can choose. A process is known by its pid, to the parent that has not reaped it yet.
//!
//! Programs other than ralph itself (a test, a bench), and all other Unixes, have no such guard: there a helper is a
//! child in a process group of its own, and only processes that stay in this group are ended with it.

mod capture;
mod direct;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod guarded;
#[cfg(not(target_os = "linux"))]
#[path = "unguarded.rs"]
mod guarded;
mod hold;
mod order;
mod run;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use guard::guard;
#[cfg(not(target_os = "linux"))]
pub use guarded::guard;

pub use capture::CapturedOutput;
pub use hold::LockedFile;
pub use order::HelperError;
pub use run::{Helper, HelperOutput};

pub(super) use guarded::Helpers;
