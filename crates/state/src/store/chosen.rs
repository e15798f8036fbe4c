//! The adapter that the user has chosen if several agents are installed and no configuration names one.
//!
//! The choice is the user's and applies to every project: a project that wants another one names it in its own
//! configuration. The file is read as the weakest of the configuration files.

use std::{io, path::PathBuf};

use ralph_system::paths::{ProjectPaths, create_private_dir, replace_file};
use ralph_text::pretty_json;
use serde_json::json;

/// Returns the path of the choice.
pub fn file(paths: &ProjectPaths) -> PathBuf {
    paths.states().root().join("chosen.json")
}

/// Stores the choice, replacing an earlier one.
///
/// # Errors
/// The system's error.
pub fn remember(paths: &ProjectPaths, adapter: &str) -> io::Result<()> {
    create_private_dir(paths.states().root()).map_err(io::Error::other)?;
    let text = pretty_json(&json!({ "adapter": adapter }));
    replace_file(&file(paths), text.as_bytes())
}
