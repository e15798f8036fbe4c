//! ralph runs a coding agent again and again against a plan until the work is verifiably done.
//!
//! The loop itself is [`ralph_core::machine`]: pure decisions over the vocabulary of [`ralph_core::event`]. [`ralph_driver`] feeds it
//! inputs, writes its decisions to the journal ([`ralph_state::store`]) and carries out its effects with [`ralph_agent`],
//! [`ralph_system::proc`] and [`ralph_git`]. Everything the user sees comes from the same records, folded by
//! [`ralph_core::run`] and put into words by [`ralph_words`].
//!
//! `ARCHITECTURE.md` shows the modules and a tour through them; [`glossary`] has the terms.

#![deny(unreachable_pub)]

#[cfg(feature = "acp-server")]
mod acp;
mod app;
mod begin;
pub mod cli;
pub mod config;
mod demo;
mod error;
pub mod glossary;
mod host;
mod runners;
#[cfg(test)]
mod spoilt_files_tests;
#[cfg(feature = "telemetry")]
mod telemetry;
pub mod ui;
