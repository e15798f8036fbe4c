//! Reads plans, compares them, and renders the prompt of an iteration.
//!
//! Pure: text in, values out. Whoever calls reads the files and puts the plan's path in front of an error.
//!
//! What counts as a task is decided in one place ([`parse`]), and counting, listing, the gate and the prompt all take
//! it from the [`PlanSnapshot`](crate::event::PlanSnapshot) made there: they cannot disagree.

mod diff;
mod error;
mod markdown;
mod prd;
mod promise;
mod prompt;
mod read;
mod report;

pub use diff::{PlanChanges, diff};
pub use error::PlanError;
pub use promise::{final_promise, last_line_promise, promise_line, promise_token};
pub use prompt::{Prompt, PromptError, PromptInput, Template};
pub use read::{PlanKind, parse, parse_bytes};
pub use report::{SelfReport, StatusPlace, final_question, self_report};
