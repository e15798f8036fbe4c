//! The outcome of a tool use.

use std::path::Path;

use crate::native::message::Image;

/// Most bytes of a result; of longer ones the middle is cut out.
pub(super) const RESULT_CAP_BYTES: usize = 30_000;

/// The outcome of a use as a message for the model: its result, or an error.
pub(in crate::native) type ToolOutcome = Result<String, String>;

/// The result of a use as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::native) struct ToolOutput {
    pub(in crate::native) text: String,
    pub(in crate::native) images: Vec<Image>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        ToolOutput {
            text,
            images: Vec::new(),
        }
    }
}

/// A path for display, relative to the project if possible.
pub(super) fn display_path(path: &Path, project: &Path) -> String {
    let below = path.strip_prefix(project).unwrap_or(path);
    match below.to_string_lossy() {
        name if name.is_empty() => ".".to_owned(),
        name => name.into_owned(),
    }
}
