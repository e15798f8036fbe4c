//! What ralph keeps of a project: the state directory and its paths, the lock, journals, recordings, signal logs.

pub mod journal;
pub mod lock;
pub mod paths;
pub mod recording;
pub mod signal_log;
