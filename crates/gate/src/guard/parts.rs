//! Differences of a partially guarded file.

use ralph_core::event::GuardedChangeKind;

/// Changed parts of a partially guarded file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChangedParts {
    pub(super) changes: Vec<(GuardedChangeKind, String)>,
    /// The present file with the original parts; `None` if a trial leaves the file as it is.
    pub(super) put: Option<Vec<u8>>,
    /// The present file, serialised in the same way as `put`; `None` if the file itself can be compared.
    pub(super) shown: Option<Vec<u8>>,
}
