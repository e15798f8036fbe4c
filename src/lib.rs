//! ralph runs a coding agent again and again against a plan until the work is verifiably done.
//!
//! The loop itself is [`machine`]: pure decisions over the vocabulary of [`event`]. [`driver`] feeds it inputs, writes
//! what it decides to the journal ([`store`]) and carries out its effects with [`agent`], [`proc`] and [`git`].
//! Everything the user sees is read from the same records, as [`run`] folds them and [`words`] says them.
//!
//! `ARCHITECTURE.md` shows the modules and a tour through them; [`glossary`] has the terms.

#![deny(unreachable_pub)]

pub mod agent;
mod app;
mod assay;
pub mod batch;
mod begin;
pub mod board;
mod claims;
pub mod cli;
pub mod config;
mod console;
pub mod control;
mod demo;
mod diagnostics;
pub mod driver;
mod error;
mod files;
pub mod git;
pub mod glossary;
mod host;
mod http_client;
mod json_rpc;
pub mod language;
mod many;
mod mcp;
mod native;
pub mod os;
pub mod permissions;
mod plan;
pub mod proc;
pub mod prompt;
pub mod proxy;
mod review;
mod runners;
pub mod sandbox;
mod server;
pub mod settings;
#[cfg(test)]
mod spoilt_files;
pub mod store;
mod text;
mod tree_copy;
mod trust;
pub mod ui;
pub mod words;

#[cfg(test)]
use ralph_core::testing;
pub use ralph_core::{event, machine, run};
