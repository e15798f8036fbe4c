//! Differences of a file of which only parts are guarded.

use ralph_core::event::GuardedChangeKind;

/// Guarded parts of a file that are not as they were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parts {
    pub(super) changes: Vec<(GuardedChangeKind, String)>,
    /// The file as it is now with these parts as they were; none if a trial leaves it as it is.
    pub(super) put: Option<Vec<u8>>,
    /// The file as it is now, written in the same way as `put` is; none if that is its own.
    pub(super) shown: Option<Vec<u8>>,
}
