//! What a user interface is told of a run.

use std::sync::Arc;

use ralph_core::event::{AgentSignal, Record};
use ralph_system::proc::Size;

/// What a user interface is told, in the order in which it happened.
#[derive(Debug, Clone, PartialEq)]
pub enum UiEvent {
    Record(Arc<Record>),
    /// Bytes of the running session's terminal.
    Output(Vec<u8>),
    /// The terminal has another size from here on: in replays, where it is not the user interface that chooses it.
    Resized(Size),
    /// What an agent reported beyond what the journal keeps.
    Detail(Box<Detail>),
    /// So much output was left out because this subscriber did not keep up.
    Skipped {
        bytes: u64,
    },
}

/// A signal that is shown and not kept: a subscriber that lags does without it.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    pub at_ms: u64,
    pub iteration: u32,
    pub signal: AgentSignal,
    /// So many before it were left out because this subscriber did not keep up.
    pub missed: u64,
}
