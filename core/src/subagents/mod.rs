//! The subagents of an iteration: what agents report of them, and the fold over the reports.
//!
//! A report names a subagent by an id of the agent's. It says what is so now, so a repeated report changes nothing.

mod fact;
mod fold;

pub use fact::{SubagentReport, SubagentStart};
pub use fold::{Subagent, Subagents};
