//! The outcome of a tool use.

use std::path::Path;

/// Most bytes of a result; of longer ones the middle is cut out.
pub(super) const RESULT_CAP_BYTES: usize = 30_000;

/// The outcome of a use as a message for the model: its result, or an error.
pub(in crate::native) type ToolOutcome = Result<String, String>;

/// A path for display, relative to the project if possible.
pub(super) fn display_path(path: &Path, project: &Path) -> String {
    let below = path.strip_prefix(project).unwrap_or(path);
    match below.to_string_lossy() {
        name if name.is_empty() => ".".to_owned(),
        name => name.into_owned(),
    }
}
