//! The pure part of ralph, without any IO: the [`event`]s of a run, its [`limits`], the fold over the events that every
//! view shows ([`run`]), and the [`machine`] of the loop, which decides by emitting events and effects.
//!
//! This crate reads no files, no clock, and starts no processes. It is a separate package so that its tests, which walk
//! through every state that the loop can reach, are compiled with optimizations.

#![deny(unreachable_pub)]

// Code derived by `ReadJson` names this crate.
extern crate self as ralph_core;

pub mod event;
pub mod json;
pub mod limits;
pub mod machine;
pub mod notices;
pub mod run;
pub mod subagents;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(not(feature = "testing"))]
use crate::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;
