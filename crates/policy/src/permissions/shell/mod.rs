//! Analyses what a shell command would run, part by part.
//!
//! A command is never run or expanded here. If the text does not determine what would run, the part is marked as
//! unclear. The one error that this module must not make is to overlook a program.

mod code;
mod cursor;
mod git;
mod launchers;
mod options;
mod output;
mod parts;
mod programs;
mod script;
mod unclear;
mod values;
mod words;

pub(super) use options::{is_runner, is_transparent};
pub(super) use parts::{PartEffect, ScriptPart, parts, possible};
pub(super) use programs::takes_value;
pub(super) use words::{BELOW, GLOB, HOLE};

pub use unclear::Unclear;
