//! Finds repositories below ignored directories, by their shape: a directory with an entry `.git`.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use super::fingerprint::is_made_anew;

/// Directories that are listed in one search. It goes level by level, so the nearest repositories are found in any tree.
const MOST_DIRECTORIES: usize = 2_000;

const GIT: &str = ".git";

/// Whether a directory has the shape of a repository's work tree.
pub(super) fn has_git(directory: &Path) -> bool {
    directory.join(GIT).symlink_metadata().is_ok()
}

/// Returns the repositories at or below some directories, relative to `root` as these are. What lies in a repository
/// is that one's; directories that tools make anew are passed over.
pub(super) fn search(root: &Path, directories: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = VecDeque::from(directories);
    for _ in 0..MOST_DIRECTORIES {
        let Some(directory) = next.pop_front() else { break };
        let full = root.join(&directory);
        if has_git(&full) {
            found.push(directory);
            continue;
        }
        if is_made_anew(&full) {
            continue;
        }
        let Ok(entries) = fs::read_dir(&full) else { continue };
        let inner = entries.flatten().filter(|entry| {
            // Links are not followed.
            entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        let mut inner: Vec<PathBuf> = inner.map(|entry| directory.join(entry.file_name())).collect();
        inner.sort();
        next.extend(inner);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_repositories_are_found_and_what_tools_make_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        for directory in [
            "out/a/.git",
            "out/deep/b/.git",
            "out/a/inner/.git",
            "out/node_modules/c/.git",
            "vendor/.git",
        ] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        for n in 0..MOST_DIRECTORIES {
            fs::create_dir_all(root.path().join(format!("wide/parts/{n}"))).unwrap();
        }
        fs::create_dir_all(root.path().join("wide/parts/0/deep/.git")).unwrap();
        let found = search(root.path(), ["out", "vendor", "wide", "gone"].map(PathBuf::from).into());
        assert_eq!(found, ["vendor", "out/a", "out/deep/b"].map(PathBuf::from));
    }
}
