//! Walks a project to find guarded files.
//!
//! Ignored files are walked, because an agent could hide a file there that a runner reads. Directories that tools
//! fill are left out, and symlinks are not followed.

use std::{
    ffi::OsStr,
    fs::{self, FileType},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{GuardError, project_dir::ProjectDir};

/// Most directory entries of one walk.
const ENTRIES_CAP: usize = 4_000_000;
const DEPTH_CAP: usize = 128;

/// Directories that tools fill, by name.
const SKIPPED: [&str; 9] = [
    ".git",
    ".mypy_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "target",
    "venv",
    ".pytest_cache",
];
/// Files that mark their directory as filled by tools.
const MARKERS: [&str; 2] = ["pyvenv.cfg", "CACHEDIR.TAG"];
/// Marks it as well if it hides the whole directory.
const IGNORES: &str = ".gitignore";

/// A file or directory that patterns match but that is not guarded, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnguardedPath {
    pub path: String,
    pub why: String,
}

impl UnguardedPath {
    pub(super) fn new(path: impl Into<String>, why: impl ToString) -> UnguardedPath {
        UnguardedPath {
            path: path.into(),
            why: why.to_string(),
        }
    }
}

/// Calls `visit` with the path and the type of each file in the project, ordered by name.
///
/// A marker file hides a directory only if `has_guarded` tells that no guarded file was below it, because an agent
/// can write a marker.
pub(super) fn walk(
    project: &Path,
    has_guarded: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&str, FileType) -> Result<(), GuardError>,
) -> Result<Vec<UnguardedPath>, GuardError> {
    let mut left_out = Vec::new();
    let mut waiting = vec![(String::new(), 0)];
    let mut entries = 0;
    while let Some((directory, depth)) = waiting.pop() {
        let listed = match list(&project.join(&directory)) {
            Ok(listed) => listed,
            Err(error) if directory.is_empty() => return Err(GuardError::file(project)(error)),
            // Deleted in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                left_out.push(UnguardedPath::new(directory, error));
                continue;
            }
        };
        entries += listed.len();
        if entries > ENTRIES_CAP {
            return Err(GuardError::TooManyFiles {
                path: project.to_owned(),
            });
        }
        let is_marked = || {
            let mut names = listed.iter().map(|(name, _)| name);
            names.any(|name| {
                MARKERS.iter().any(|marker| name == marker) || name == IGNORES && hides_all(project, &directory)
            })
        };
        if !directory.is_empty() && is_marked() && !has_guarded(&directory) {
            continue;
        }
        let mut below = Vec::new();
        for (name, kind) in &listed {
            let Some(name) = name.to_str() else {
                let path = format!("{directory}/{}", name.to_string_lossy());
                left_out.push(UnguardedPath::new(
                    path.trim_start_matches('/'),
                    "its name is not UTF-8",
                ));
                continue;
            };
            let path = if directory.is_empty() {
                name.to_owned()
            } else {
                format!("{directory}/{name}")
            };
            if is_skipped(name, &directory) {
                continue;
            }
            if !kind.is_dir() {
                visit(&path, *kind)?;
            } else if depth >= DEPTH_CAP {
                left_out.push(UnguardedPath::new(path, "too deep"));
            } else {
                below.push((path, depth + 1));
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    Ok(left_out)
}

/// Whether a file hides its whole directory from git, as Meson, pytest and virtual environments write it.
fn hides_all(project: &Path, directory: &str) -> bool {
    let file = ProjectDir::open(project).and_then(|project| project.read_file(&format!("{directory}/{IGNORES}")));
    let rules = file.map_or_else(|_| Vec::new(), |(_, rules)| rules);
    let rules = String::from_utf8_lossy(&rules);
    let mut rules = rules
        .lines()
        .map(str::trim)
        .filter(|rule| !rule.is_empty() && !rule.starts_with('#'));
    rules.next() == Some("*") && rules.next().is_none()
}

/// Whether a walk looks into the directories of a path, as far as their names tell.
pub(super) fn is_walked(path: &str) -> bool {
    let mut directory = "";
    path.split('/')
        .all(|name| !is_skipped(name, std::mem::replace(&mut directory, name)))
}

fn list(directory: &Path) -> io::Result<Vec<(std::ffi::OsString, FileType)>> {
    let mut listed = Vec::new();
    for entry in fs::read_dir(directory)?.take(ENTRIES_CAP + 1) {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) => listed.push((entry.file_name(), kind)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    listed.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(listed)
}

fn is_skipped(name: &str, directory: &str) -> bool {
    let parent = Path::new(directory).file_name();
    name.starts_with(".ralph")
        || SKIPPED.contains(&name)
        || (name == "bundle" && parent.is_some_and(|parent| parent == OsStr::new("vendor")))
}
