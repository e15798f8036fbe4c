//! Tells whether tests measure anything: which tests a goal ran ([`runner`]), whether what decides their result is as it was
//! when the run began ([`guard`]), and whether they notice a change ([`mutants`]). [`cheats`] knows ways to deceive all three.
//!
//! Nothing in here starts a process. Only [`guard`] reads and writes files, all of them in directories that it is given.

#![deny(unreachable_pub)]

pub mod cheats;
pub mod guard;
pub mod mutants;
pub mod runner;
