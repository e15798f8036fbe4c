//! Child trees: the guard of each, its terminal, its end; and ralph's own helpers. Knows nothing of agents.
//!
//! A child is never started directly. portable-pty starts `ralph __guard`, which is a sub-reaper and starts the
//! program. Even if ralph or the program dies, the guard ends every descendant before it exits itself.
//!
//! Before changing anything here, note: the end of a tree is decided by its *processes*, never by an end of file. A
//! process that outlived its parent keeps the terminal open for ever, so no code waits for the end of the terminal.
//!
//! `linux.rs` holds what Linux adds to POSIX; `portable.rs` has the same functions for the other Unixes, which have no
//! sub-reapers: there, a process escapes if it leaves its parents, its session and its environment behind.

mod ceiling;
mod child;
mod collector;
#[cfg(target_os = "linux")]
mod confine;
mod detached;
mod ending;
pub mod guard;
mod guard_waiter;
pub mod helper;
mod holders;
mod launch;
mod left;
mod leftovers;
#[cfg(target_os = "linux")]
mod linux;
mod liveness;
#[cfg(target_os = "linux")]
mod mediation;
#[cfg(target_os = "linux")]
mod mounts;
mod origin;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(target_os = "linux")]
mod privileges;
mod process;
mod program;
mod reader;
pub mod screen;
mod search_path;
mod signals;
mod spawn;
mod spec;
mod supervisor;
mod texts;
mod tree;
mod write_queue;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

pub use ceiling::TreeLimits;
pub use child::{Child, InputRefused};
pub use collector::{Printed, collector};
pub use detached::{DetachedLoop, LoopEnd, LoopStart, Starter, UnattendedStart, replace_process, signal_loop};
pub use helper::LockedFile;
pub use launch::{
    Activity, ChildEnd, Confinement, ConfinementLevel, Ladder, Launch, Mount, MountWrites, Network, OnRefused,
    OutputSink, RUN_ID_VAR, RefusedCall, Size, Stdin, StdoutMode, StopSignal, StopSpeed,
};
pub use left::{LeftProcess, LeftProcesses, OnLeftRunning, runs_below};
pub use origin::{ClientOrigin, ProcessOrigin, is_below_a_run, origin_of_client, origin_of_peer};
pub use spawn::SpawnError;
pub use supervisor::{GIT_AS_IT_IS, Supervisor, own_executable};
