//! Detects changes in a workspace since the last scan.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_system::files::source_entries;

use super::{source::Stamp, table::LanguageServer};

/// Bounds of a scan: most watched files, most directory entries, and the time limit.
const FILES: usize = 20_000;
const ENTRIES: usize = 200_000;
const LOOK: Duration = Duration::from_secs(2);

/// The files of a workspace that concern its server, with their stamps.
pub(super) type FileStamps = BTreeMap<PathBuf, Stamp>;

/// Scans `root`.
pub(super) fn scan(root: &Path, server: &LanguageServer) -> FileStamps {
    let until = Instant::now() + LOOK;
    let mut seen = FileStamps::new();
    // The server cannot read an unreadable directory either.
    for entry in source_entries(root).take(ENTRIES) {
        if seen.len() >= FILES || Instant::now() > until {
            break;
        }
        let marks_root = |name: &String| entry.file_name() == name.as_str();
        let is_watched = server.is_for(entry.path()) || server.roots.iter().any(marks_root);
        if is_watched
            && !entry.file_type().is_dir()
            && let Some(stamp) = Stamp::from_path(entry.path())
        {
            seen.insert(entry.into_path(), stamp);
        }
    }
    seen
}

/// The kind of change, with the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileEvent {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

pub(super) fn between(before: &FileStamps, now: &FileStamps) -> Vec<(PathBuf, FileEvent)> {
    let here = now.iter().filter_map(|(path, stamp)| match before.get(path) {
        None => Some((path.clone(), FileEvent::Created)),
        Some(before) if before != stamp => Some((path.clone(), FileEvent::Changed)),
        Some(_) => None,
    });
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    here.chain(gone.map(|path| (path.clone(), FileEvent::Deleted)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::language::built_in;

    #[test]
    fn what_an_agent_makes_changes_and_removes_is_found_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        for name in [
            "src/a.rs",
            "src/b.rs",
            "target/c.rs",
            ".git/d.rs",
            "README.md",
            "Cargo.toml",
        ] {
            write(name, "1");
        }
        let rust = &built_in()[0];
        let before = scan(root, rust);
        assert_eq!(before.len(), 3, "{before:?}");
        write("src/a.rs", "22");
        write("src/new/e.rs", "");
        write("target/c.rs", "22");
        fs::remove_file(root.join("src/b.rs")).expect("a file that is gone");
        let found = between(&before, &scan(root, rust));
        let of = |name: &str, change| (root.join(name), change);
        assert_eq!(
            found,
            [
                of("src/a.rs", FileEvent::Changed),
                of("src/new/e.rs", FileEvent::Created),
                of("src/b.rs", FileEvent::Deleted)
            ]
        );
        assert_eq!(between(&before, &before), []);
    }
}
