//! Reads plans and compares them.
//!
//! Pure: text in, values out. The caller reads the files and adds the plan's path to an error.
//!
//! Tasks are recognised in one place (`read`). Counting, listing, the gate and the prompt all use the resulting
//! [`PlanSnapshot`](ralph_core::event::PlanSnapshot), so that they cannot disagree.

#![deny(unreachable_pub)]

pub mod batch;
pub mod claims;
pub mod prompt;

mod add;
mod advice;
mod check_box;
mod checks;
mod diff;
mod edit;
mod error;
mod group;
mod headings;
mod kind;
mod left_out;
mod line;
mod lines;
mod locate;
mod markdown;
mod order;
mod prd;
mod read;
mod reading;
mod scope;
mod section;
mod shape;
mod steps;
mod story_keys;
mod words;

#[cfg(not(feature = "testing"))]
use ralph_core::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;

pub use add::{AddError, add};
pub use advice::{AdviceSeverity, PlanAdvice, advice};
pub use checks::{checks, hold_unchecked};
pub use diff::{PlanChanges, diff, keep_done, toggled};
pub use edit::{EditError, TaskEdit, edit};
pub use error::PlanError;
pub use group::shortened;
pub use kind::PlanKind;
pub use locate::{ChosenPlan, NoPlan, choose, is_description, locate};
pub use order::{NamedTasks, tasks_named};
pub use read::{parse_bytes, read_bytes};
pub use reading::{ParsedPlan, TaskMistake};
pub use scope::{TaskScope, hold_out_of_scope};
pub use section::{PlanSections, only_section, sections};
pub use story_keys::StoryState;
