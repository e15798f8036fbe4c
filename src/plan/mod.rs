//! Reads plans and compares them.
//!
//! Pure: text in, values out. Whoever calls reads the files and puts the plan's path in front of an error.
//!
//! What counts as a task is decided in one place ([`read`]), and counting, listing, the gate and the prompt all take
//! it from the [`PlanSnapshot`](crate::event::PlanSnapshot) made there: they cannot disagree.

mod add;
mod advice;
mod diff;
mod error;
mod group;
mod headings;
mod kind;
mod line;
mod locate;
mod markdown;
mod prd;
mod read;
mod reading;
mod section;

pub(crate) use add::{AddError, add};
pub(crate) use advice::{Advice, Severity, advice};
pub(crate) use diff::{PlanChanges, diff, toggled};
pub(crate) use error::PlanError;
pub(crate) use group::shown;
pub(crate) use kind::PlanKind;
pub(crate) use locate::{Chosen, NoPlan, choose, is_description, locate};
#[cfg(test)]
pub(crate) use read::parse_bytes;
pub(crate) use read::read_bytes;
pub(crate) use reading::{Reading, TaskMistake};
pub(crate) use section::{Sections, only_section, sections};
