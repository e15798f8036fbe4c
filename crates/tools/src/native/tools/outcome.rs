//! What a use of a tool comes to.

use std::path::Path;

/// Most bytes of a result; longer ones keep both ends.
pub(super) const RESULT_CAP_BYTES: usize = 30_000;

/// What a use came to, as the model reads it: its result, or why there is none.
pub(in crate::native) type Outcome = Result<String, String>;

/// A path as short as it may be said.
pub(super) fn shown(path: &Path, project: &Path) -> String {
    let below = path.strip_prefix(project).unwrap_or(path);
    match below.to_string_lossy() {
        name if name.is_empty() => ".".to_owned(),
        name => name.into_owned(),
    }
}
