//! Suggestions for starting in a project: commands that verify work, a plan (empty, imported from requirements, or of a
//! single task), and the configuration of another loop.
//!
//! This module decides nothing and writes nothing: the results are suggestions.

mod agent_plan;
mod ci;
mod commands;
mod found_requirements;
mod import;
mod other_loops;
pub(crate) mod pip;
mod priority;
mod project_root;
pub(crate) mod python;
mod requirements;
mod task;
mod templates;
mod tree;

pub(crate) use agent_plan::{assignment, check};
pub(crate) use commands::{CommandSuggestion, place_of_tests, suggestions};
pub(crate) use found_requirements::requirements_files;
pub(crate) use import::{Imported, import, is_prose};
pub(crate) use other_loops::{OtherLoop, other_loop};
pub(crate) use task::{PLANS, task_plan};
pub(crate) use templates::{config, instructions, instructions_assignment, plan};
pub(crate) use tree::{services_note, tree_settings};
