//! The settings for work trees, checked before the first of them is made.

use std::{
    fs,
    path::{Component, PathBuf},
};

use ralph_git::ignored_matching;
use ralph_system::proc::Supervisor;
use ralph_text::one_line;
use ralph_words::{counted, size_in_words};

use super::super::{
    ProjectPlace,
    tree::{branches, linked_path, patterns},
};
use crate::{config::TreeSettings, error::Failure};

/// Most directories that are named as the largest parts of a copy.
const NAMED: usize = 3;

/// A file set that is larger than the settings allow.
pub(crate) struct OversizedCopy {
    /// The largest parts, in words.
    pub(crate) what: String,
}

/// Checks the settings for work trees of the project before the first of them is made. Returns the copy if it is larger
/// than the settings allow.
///
/// # Errors
/// A [`Failure`] if a link leads out of the project, or if git cannot list the files to copy.
pub(crate) fn check_tree_settings(
    place: &ProjectPlace,
    settings: &TreeSettings,
    supervisor: &Supervisor,
) -> Result<Option<OversizedCopy>, Failure> {
    for path in &settings.link {
        linked_path(&place.project, path)?;
    }
    let patterns = patterns(settings, &place.project);
    let most = settings.copy_mib.map(|mib| u64::from(mib) << 20);
    let Some(most) = most.filter(|_| !patterns.is_empty()) else {
        return Ok(None);
    };
    let files = ignored_matching(&branches(&place.project, supervisor)?, &patterns)?;
    let sizes: Vec<(&PathBuf, u64)> = files
        .iter()
        .filter_map(|file| Some((file, fs::symlink_metadata(place.project.join(file)).ok()?.len())))
        .collect();
    let bytes: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    let what = || OversizedCopy {
        what: format!(
            "each work tree would get copies of {}, {}, more than `tree.copyMiB` allows ({}): {}",
            counted(files.len() as u64, "file"),
            size_in_words(bytes),
            size_in_words(most),
            largest(&sizes)
        ),
    };
    Ok((bytes > most).then(what))
}

/// Names the largest files, or directories of the project that contain files, with their sizes.
fn largest(sizes: &[(&PathBuf, u64)]) -> String {
    let mut parts = std::collections::BTreeMap::<String, u64>::new();
    for (file, bytes) in sizes {
        let first = file.components().next().map(Component::as_os_str).unwrap_or_default();
        *parts.entry(first.to_string_lossy().into_owned()).or_default() += bytes;
    }
    let mut parts: Vec<(String, u64)> = parts.into_iter().collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let parts = parts.iter().take(NAMED);
    let parts: Vec<String> = parts
        .map(|(name, bytes)| format!("`{}` {}", one_line(name), size_in_words(*bytes)))
        .collect();
    parts.join(", ")
}
