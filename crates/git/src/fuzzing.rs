//! Entries of fuzz targets to parsers that are private.

use super::{conflict, process, status};

/// Parses bytes as each output of git that has a parser, for a fuzz target.
pub fn read_any_output(bytes: &[u8]) {
    if let Some(status) = status::parse(bytes) {
        _ = status.changes_ignoring();
    }
    for conflict in conflict::FileConflict::parse(bytes) {
        assert!(!conflict.path.contains('\0'));
    }
    _ = process::raw_changes(bytes).count();
    _ = conflict::repositories_added(bytes);
}
