//! What a project is begun with: the commands that verify work in it, and a plan: one to write tasks into, one made of
//! requirements, or one of a single task; and what a project of another loop has configured.
//!
//! Decides nothing and writes nothing: what is found is a suggestion.

mod agent_plan;
mod commands;
mod import;
mod other_loops;
mod priority;
mod requirements;
mod task;
mod templates;

pub(crate) use agent_plan::{assignment, check};
pub(crate) use commands::{Suggestion, suggestions};
pub(crate) use import::{Imported, import};
pub(crate) use other_loops::{OtherLoop, other_loop};
pub(crate) use task::{PLANS, task_plan};
pub(crate) use templates::{config, instructions, instructions_assignment, plan};
