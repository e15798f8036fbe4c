//! Adds items to lists in files of settings, for commands that write one for the user.

use std::path::Path;

use ralph_policy::settings;
use ralph_system::files::{ReadError, read_text, replace_unless_changed};
use serde_json::Value;

use crate::error::{Failure, FailureKind};

/// Maximum size of a file of settings.
const CAP_BYTES: u64 = 1 << 20;

/// Adds `item` to the list `key` in the groups `above` of the file, which is made if it is missing. `check` refuses a text with
/// which the file could not be used.
///
/// # Errors
/// A [`Failure`] that names the file, which is then unchanged.
pub(super) fn add(
    file: &Path,
    (above, key): (&[&str], &str),
    item: &Value,
    check: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let fails = |why: &str| Failure::new(FailureKind::Configuration, format!("{}: {why}", file.display()));
    let old = match read_text(file, CAP_BYTES) {
        Ok(text) => Some(text),
        Err(error) if ReadError::is_missing(&error) => None,
        Err(error) => return Err(fails(&error.to_string())),
    };
    let text = old.as_deref().unwrap_or_default();
    let added = settings::appended(file, text, (above, key), item).map_err(|mistake| fails(&mistake.to_string()))?;
    let added = added.ok_or_else(|| fails(&format!("`{key}` is not a list there: add {item} to it by hand")))?;
    check(&added)?;
    match replace_unless_changed(file, old.as_deref().map(str::as_bytes), &added, CAP_BYTES) {
        Ok(true) => Ok(()),
        Ok(false) => Err(fails("another program has just changed it").hint("try again")),
        Err(error) => Err(fails(&format!("cannot be written: {error}"))),
    }
}
