//! Reads plans and compares them.
//!
//! Pure: text in, values out. Whoever calls reads the files and puts the plan's path in front of an error.
//!
//! What counts as a task is decided in one place ([`read`]), and counting, listing, the gate and the prompt all take
//! it from the [`PlanSnapshot`](crate::event::PlanSnapshot) made there: they cannot disagree.

mod diff;
mod error;
mod kind;
mod line;
mod locate;
mod markdown;
mod prd;
mod read;

pub(crate) use diff::{PlanChanges, diff};
pub(crate) use error::PlanError;
pub(crate) use kind::PlanKind;
pub(crate) use locate::locate;
pub(crate) use read::parse_bytes;
