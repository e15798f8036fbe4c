//! The events of a run for user interfaces.

use std::sync::Arc;

use ralph_core::event::{AgentSignal, Record};
use ralph_system::proc::Size;

/// An event for a user interface; events come in the order in which they happened.
#[derive(Debug, Clone, PartialEq)]
pub enum UiEvent {
    Record(Arc<Record>),
    /// Bytes of the running session's terminal.
    Output(Vec<u8>),
    /// The terminal has another size from here on. Only in replays: in a live run the user interface chooses the size.
    Resized(Size),
    /// A signal of the agent that the journal does not keep.
    Detail(Box<SignalDetail>),
    /// This much output was left out because the subscriber did not keep up.
    Skipped {
        bytes: u64,
    },
}

/// A signal that is shown but not recorded: a subscriber that lags misses it.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalDetail {
    pub at_ms: u64,
    pub iteration: u32,
    pub signal: AgentSignal,
    /// Number of details before it that were left out because the subscriber did not keep up.
    pub missed: u64,
}
