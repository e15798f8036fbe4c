//! The stored state of a project: its directory and paths, the lock, journals, recordings, signal logs, tokens.

pub mod accounts;
pub mod append;
pub mod chosen;
pub mod journal;
pub mod lock;
pub mod ports;
pub mod recording;
pub mod rules;
pub mod signal_log;
pub mod state_file;
pub mod task_output;
pub mod tokens;
pub mod trust;
