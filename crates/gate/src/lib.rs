//! Determines whether tests measure anything: which tests a goal ran ([`runner`]), whether the files that decide
//! their results are unchanged since the start of the run ([`guard`]), and whether they notice a change of the work
//! ([`mutants`]).
//!
//! This crate starts no process. Only [`guard`] reads and writes files, all of them in directories that it
//! is given.

#![deny(unreachable_pub)]

pub mod guard;
pub mod mutants;
pub mod runner;
mod suppressions;

pub use suppressions::added_suppressions;
