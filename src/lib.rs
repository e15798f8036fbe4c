//! ralph runs a coding agent again and again against a plan until the work is verifiably done.
//!
//! The loop itself is [`machine`]: pure decisions over the vocabulary of [`event`]. [`driver`] feeds it inputs, writes
//! what it decides to the journal ([`store`]) and carries out its effects with [`agent`], [`proc`] and [`git`].
//! Everything the user sees is read from the same records, as [`run`] folds them and [`words`] says them.
//!
//! `ARCHITECTURE.md` shows the modules and a tour through them; [`glossary`] has the terms.

pub mod agent;
pub mod app;
pub mod claims;
pub mod cli;
pub mod config;
pub mod console;
pub mod control;
pub mod demo;
pub mod diagnostics;
pub mod driver;
pub mod error;
pub mod event;
pub mod files;
pub mod git;
pub mod glossary;
mod host;
pub mod machine;
pub mod os;
pub mod plan;
pub mod proc;
pub mod prompt;
pub mod run;
pub mod settings;
pub mod store;
pub mod text;
pub mod ui;
pub mod words;
