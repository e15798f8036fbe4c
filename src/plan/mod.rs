//! Reads plans and compares them.
//!
//! Pure: text in, values out. Whoever calls reads the files and puts the plan's path in front of an error.
//!
//! What counts as a task is decided in one place ([`parse`]), and counting, listing, the gate and the prompt all take
//! it from the [`PlanSnapshot`](crate::event::PlanSnapshot) made there: they cannot disagree.

mod diff;
mod error;
mod locate;
mod markdown;
mod prd;
mod read;

pub use diff::{PlanChanges, diff};
pub use error::PlanError;
pub use locate::{NoPlan, locate};
pub use read::{PlanKind, parse, parse_bytes};
