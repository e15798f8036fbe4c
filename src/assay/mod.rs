//! An attack on the gate of a project: the known cheats, a copy of the project to try them on, and changes
//! that break its work.
//!
//! The project itself is not changed. No edit of the copy goes through a symlink, which could lead back to
//! the project.

mod breaks;
mod copy;
mod known;
mod row;
mod scene;
mod script;

pub(crate) use breaks::{Break, breaks};
pub(crate) use copy::{ProjectCopy, ProjectCopyError};
pub(crate) use known::cheats;
pub(crate) use row::{AssayRow, AttemptKind, BrokenWork, GateVerdict, Remedy};
pub(crate) use scene::{ProjectFiles, examine};
pub(crate) use script::{AssayAgent, PLAN};
