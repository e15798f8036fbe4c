//! What ralph decides and remembers, without what it does: the [`event`]s of a run, the fold of them that everything shows
//! ([`run`]), and the [`machine`] of the loop, whose decisions are events and effects.
//!
//! Nothing in here reads a file, asks for the time or starts anything. That is why it is a package of its own: its tests walk
//! through every state that the loop can reach, and are compiled with optimizations for it.

#![deny(unreachable_pub)]

pub mod event;
pub mod machine;
pub mod run;
#[cfg(feature = "testing")]
pub mod testing;
