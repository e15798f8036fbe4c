//! What a command of the shell would run, part by part.
//!
//! A command is never run or expanded here. Where the text alone does not tell what would run, the part says so; the
//! opposite, a program that is overlooked, is the mistake this module must not make.

mod cursor;
mod options;
mod parts;
mod script;
mod unclear;
mod words;

pub(super) use options::{is_runner, is_transparent};
pub(super) use parts::{What, parts, possible};
pub(super) use words::HOLE;

pub use unclear::Unclear;
