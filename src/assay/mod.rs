//! An attack on the gate of a project: the cheats that are known, a copy of the project to try them on, and ways to break its work.
//!
//! The project itself stays as it is, and no edit of the copy goes through a symlink: it could lead back.

mod breaks;
mod copy;
mod known;
mod row;
mod scene;
mod script;

pub(crate) use breaks::{Break, breaks};
pub(crate) use copy::{Copy, CopyError};
pub(crate) use known::cheats;
pub(crate) use row::{Broken, Kind, Remedy, Row, Verdict};
pub(crate) use scene::{Files, look_at};
pub(crate) use script::{Agent, PLAN};
