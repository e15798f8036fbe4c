//! Branches, tags, replacements of objects and the configuration, which all work trees share: an agent in one of them can change them for all.

use std::{collections::BTreeMap, path::PathBuf};

use ralph_system::files;

use super::{GitError, work_trees::Branches};

/// A larger configuration is not compared.
const CONFIG_CAP_BYTES: u64 = 4 << 20;
/// Longer than a line of a reflog.
const ENTRY_CAP_BYTES: u64 = 16 << 10;
/// Prefix of the upstreams of branches, which git itself writes.
const UPSTREAMS: &str = "branch.";

/// Prefix of the references that have git show another object for the one in their name.
pub const REPLACEMENTS: &str = "refs/replace/";

/// Branches, tags and replacements of objects by their full names, with their objects.
pub type References = BTreeMap<String, String>;

/// Returns the branches, the tags and the replacements of objects of the repository.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn references(branches: &Branches) -> Result<References, GitError> {
    let list = [
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/heads",
        "refs/tags",
        REPLACEMENTS,
    ];
    let output = branches.git().args(list).run()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs
        .map(|(name, object)| (name.to_owned(), object.to_owned()))
        .collect())
}

/// Whether `reference` is checked out in the user's own work tree and was moved to `object` there.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn is_moved_in_root(branches: &Branches, reference: &str, object: &str) -> Result<bool, GitError> {
    let git_dir = branches.admin_of(branches.root())?;
    // `OLD NEW NAME <MAIL> TIME ZONE<TAB>MESSAGE`, for the HEAD of this work tree only.
    let log = files::read_end(&git_dir.join("logs/HEAD"), 0, ENTRY_CAP_BYTES).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let last = log.lines().next_back().and_then(|line| line.split(' ').nth(1));
    let head = branches.git().args(["symbolic-ref", "--quiet", "HEAD"]).run_any()?;
    Ok(head.line().is_ok_and(|head| head == reference) && last == Some(object))
}

/// Returns the path of the configuration that all work trees share.
pub fn config_file(branches: &Branches) -> PathBuf {
    branches.common_dir().join("config")
}

/// Returns the text of [`config_file`]; empty if it cannot be read.
pub fn config_text(branches: &Branches) -> Vec<u8> {
    files::read_unfollowed(&config_file(branches), CONFIG_CAP_BYTES).unwrap_or_default()
}

/// Returns the keys whose values differ between two configurations, except upstreams of branches.
pub fn changed_keys(before: &[u8], after: &[u8]) -> Vec<String> {
    let (before, after) = (values(before), values(after));
    let keys = before.keys().chain(after.keys());
    let mut changed: Vec<String> = keys
        .filter(|key| before.get(*key) != after.get(*key) && !key.starts_with(UPSTREAMS))
        .cloned()
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

/// Returns the values of each key, as far as single lines define them.
fn values(config: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in String::from_utf8_lossy(config).lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = match name.split_once(' ') {
                Some((name, part)) => format!("{}.{}", name.to_lowercase(), part.trim().trim_matches('"')),
                None => name.to_lowercase(),
            };
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = format!("{section}.{}", key.trim().to_lowercase());
        values.entry(key).or_default().push(value.trim().to_owned());
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_changed_are_named_and_upstreams_are_passed_over() {
        let before = b"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = here\n";
        let after = b"# by an agent\n[core]\n\tBare = true\n\thooksPath = x\n[remote \"origin\"]\n\turl=here\n[branch \"x\"]\n\tremote = origin\n";
        assert_eq!(changed_keys(before, after), ["core.bare", "core.hookspath"]);
        assert_eq!(changed_keys(before, before), [""; 0]);
        assert_eq!(changed_keys(before, b""), ["core.bare", "remote.origin.url"]);
    }
}
