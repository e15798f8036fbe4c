//! What ralph keeps of a project: the state directory and its paths, the lock, journals, recordings, signal logs, tokens.

pub(crate) mod append;
pub(crate) mod chosen;
pub mod journal;
pub(crate) mod lock;
pub mod paths;
pub(crate) mod recording;
pub(crate) mod rules;
pub(crate) mod signal_log;
pub(crate) mod task_output;
pub(crate) mod tokens;
pub(crate) mod trust;
