//! Tells whether files are as they were before, for projects without git.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io, mem,
    path::{Path, PathBuf},
};

use ralph_system::files;
use ralph_system::paths::States;
use thiserror::Error;

/// Larger trees are not compared: a directory of that size is a home or a disk, not a project.
const MOST_FILES: usize = 20_000;
/// Bytes that are read of all files together; for the rest, size and modification time stand for the content.
const MOST_BYTES: u64 = 32 << 20;

/// Directories that tools make or download, under names with no other use.
const MADE: [&str; 22] = [
    ".git",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".zig-cache",
    "__pycache__",
    "bower_components",
    "dist-newstyle",
    "elm-stuff",
    "node_modules",
    "zig-cache",
];
/// Marks a directory that can be made anew, such as cargo's `target`.
const CACHE_MARK: &str = "CACHEDIR.TAG";
/// A longer `.gitignore` is not read.
const IGNORE_BYTES: u64 = 64 << 10;

/// Whether `path` is a directory that a tool made or downloaded, and can make again.
pub(super) fn is_made_anew(path: &Path) -> bool {
    let has_name = path
        .file_name()
        .is_some_and(|name| MADE.iter().any(|made| name == *made));
    has_name || path.join(CACHE_MARK).is_file()
}

/// The reason why files cannot be compared.
#[derive(Debug, Error)]
pub enum FingerprintError {
    #[error("there are more than {MOST_FILES} files")]
    TooMany,
    #[error("{path}", path = path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The fingerprints of the files at each look.
#[derive(Debug, Default)]
pub struct FingerprintHistory {
    known: HashSet<u64>,
    is_blind: bool,
}

impl FingerprintHistory {
    /// Tells whether the files below `root` are in a state never seen before; `None` if unknown, with the reason the
    /// first time.
    pub fn look(&mut self, root: &Path, states: &States) -> (Option<bool>, Option<FingerprintError>) {
        match fingerprint(root, states) {
            Ok(number) => (Some(self.known.insert(number)), None),
            Err(error) => {
                let is_news = !mem::replace(&mut self.is_blind, true);
                (None, is_news.then_some(error))
            }
        }
    }
}

/// Returns a number that depends only on the present files below `root`.
///
/// Names, kinds and contents count; times only in large trees. Left out are git's own files, ralph's `states`, caches,
/// downloaded or built files, and the entries of the root's `.gitignore` without a pattern, or with only a leading `*`.
///
/// # Errors
/// [`FingerprintError`] if there are too many files, or if a directory cannot be read.
pub fn fingerprint(root: &Path, states: &States) -> Result<u64, FingerprintError> {
    let ignored = IgnorePatterns::in_root(root);
    let is_left_out = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        MADE.iter().any(|made| name == *made) || states.contains(path) || ignored.has(path, name)
    };
    let mut hasher = DefaultHasher::new();
    let mut left_bytes = MOST_BYTES;
    let mut files = 0;
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        if directory != root && directory.join(CACHE_MARK).is_file() {
            continue;
        }
        let entries = sorted_entries(&directory).map_err(|source| FingerprintError::Unreadable {
            path: directory.clone(),
            source,
        })?;
        for path in entries.into_iter().filter(|path| !is_left_out(path)) {
            files += 1;
            if files > MOST_FILES {
                return Err(FingerprintError::TooMany);
            }
            path.strip_prefix(root).unwrap_or(&path).hash(&mut hasher);
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() {
                directories.push(path);
            } else if meta.is_symlink() {
                fs::read_link(&path).ok().hash(&mut hasher);
            } else if meta.is_file() {
                meta.len().hash(&mut hasher);
                match content(&path, meta.len(), &mut left_bytes) {
                    Some(content) => content.hash(&mut hasher),
                    None => meta.modified().ok().hash(&mut hasher),
                }
            }
        }
    }
    Ok(hasher.finish())
}

/// The entries of a `.gitignore`: plain names, which are most, plain paths, and patterns of endings, such as `*.o`.
#[derive(Default)]
struct IgnorePatterns {
    names: HashSet<String>,
    paths: HashSet<PathBuf>,
    endings: Vec<String>,
}

impl IgnorePatterns {
    fn in_root(root: &Path) -> IgnorePatterns {
        let mut ignored = IgnorePatterns::default();
        let Some(text) = read_ignore(&root.join(".gitignore")) else {
            return ignored;
        };
        // Negated patterns need all of git's rules.
        if text.lines().any(|line| line.starts_with('!')) {
            return ignored;
        }
        for line in text.lines().map(str::trim_end).filter(|line| !line.starts_with('#')) {
            let name = line.trim_end_matches('/');
            let is_plain = |text: &str| !text.is_empty() && !text.contains(['*', '?', '[', '\\', '/']);
            if is_plain(name) {
                ignored.names.insert(name.to_owned());
            } else if let Some(ending) = name.strip_prefix('*').filter(|ending| is_plain(ending)) {
                ignored.endings.push(ending.to_owned());
            } else if !name.is_empty() && name.split('/').skip_while(|part| part.is_empty()).all(is_plain) {
                ignored.paths.insert(root.join(name.trim_start_matches('/')));
            }
        }
        ignored
    }

    fn has(&self, path: &Path, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return false };
        self.names.contains(name)
            || self.paths.contains(path)
            || self.endings.iter().any(|ending| name.ends_with(ending.as_str()))
    }
}

fn read_ignore(path: &Path) -> Option<String> {
    String::from_utf8(files::read_bytes(path, IGNORE_BYTES).ok()?).ok()
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Reads a file, as long as the total stays within the bound.
fn content(path: &Path, length: u64, left_bytes: &mut u64) -> Option<Vec<u8>> {
    *left_bytes = left_bytes.checked_sub(length)?;
    // The file may have been replaced by now, even by a pipe.
    files::read_head(path, length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_system::paths::ProjectPaths;

    fn count(root: &Path) -> Option<u64> {
        let paths = ProjectPaths::new(root, Some(Path::new("/elsewhere"))).unwrap();
        fingerprint(root, &paths.states()).ok()
    }

    #[test]
    fn a_pipe_that_has_taken_the_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (sender, read) = std::sync::mpsc::channel();
        // With a length, as a regular file had it before.
        std::thread::spawn(move || sender.send((content(&pipe, 5, &mut 100), read_ignore(&pipe))));
        let read = read.recv_timeout(std::time::Duration::from_secs(10));
        assert_eq!(read, Ok((None, None)), "it does not hang");
    }

    #[test]
    fn what_tools_make_and_fetch_is_no_work() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        fs::write(
            dir.path().join(".gitignore"),
            "# made\n/build/\n*.o\ngenerated\nout/made\n",
        )
        .unwrap();
        write("src/main.c");
        let first = count(dir.path()).unwrap();
        fs::create_dir(dir.path().join("target")).unwrap();
        fs::write(dir.path().join("target/CACHEDIR.TAG"), "").unwrap();
        let with_target = count(dir.path()).unwrap();
        for made in [
            "target/debug/app",
            "node_modules/left-pad/index.js",
            "__pycache__/app.pyc",
            "build/app",
            "main.o",
        ] {
            write(made);
            assert_eq!(count(dir.path()), Some(with_target), "{made}");
        }
        write("src/build/script.sh");
        assert_ne!(count(dir.path()), Some(with_target), "only the root's is ignored");
        assert_ne!(first, with_target, "that it was built at all");
    }

    #[test]
    fn ralphs_state_is_no_work() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let paths = ProjectPaths::new(&root, Some(&root.join("state"))).unwrap();
        fs::create_dir_all(paths.state()).unwrap();
        let first = fingerprint(&root, &paths.states()).unwrap();
        fs::write(paths.lock(), "x").unwrap();
        assert_eq!(fingerprint(&root, &paths.states()).unwrap(), first);
    }

    #[test]
    fn files_that_are_as_they_were_count_the_same_and_all_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/er/file");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "one").unwrap();
        let first = count(dir.path()).unwrap();
        fs::write(&file, "two").unwrap();
        let second = count(dir.path()).unwrap();
        assert_ne!(first, second, "another content of the same length");
        fs::write(&file, "one").unwrap();
        assert_eq!(count(dir.path()), Some(first));
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/HEAD"), "x").unwrap();
        assert_eq!(count(dir.path()), Some(first));
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        assert_ne!(count(dir.path()), Some(first));
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(count(&dir.path().join("none")), None);
        for n in 0..=MOST_FILES {
            fs::write(dir.path().join(n.to_string()), "").unwrap();
        }
        assert_eq!(count(dir.path()), None);
    }
}
