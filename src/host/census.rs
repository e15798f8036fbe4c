//! Tells whether files are as they were before, where no git does.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// More is not looked at: a directory of that size is a home or a disk, not a project.
const MOST_FILES: usize = 20_000;
/// Bytes that are read of all files together; of the rest, size and time of change stand for the content.
const MOST_BYTES: u64 = 32 << 20;

/// Returns a number that is the same for the same files below `root`, whatever happened to them in between.
///
/// Names, kinds and contents count, times do not but in large trees. What git keeps for itself is left out. None if there
/// are too many files, or if a directory cannot be read.
pub fn census(root: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut left_bytes = MOST_BYTES;
    let mut files = 0;
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in sorted_entries(&directory).ok()? {
            files += 1;
            if files > MOST_FILES {
                return None;
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
    Some(hasher.finish())
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != ".git" {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads a file, as long as it and all before it are within the bound.
fn content(path: &Path, length: u64, left_bytes: &mut u64) -> Option<Vec<u8>> {
    *left_bytes = left_bytes.checked_sub(length)?;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(length).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_as_they_were_count_the_same_and_all_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/er/file");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "one").unwrap();
        let first = census(dir.path()).unwrap();
        fs::write(&file, "two").unwrap();
        let second = census(dir.path()).unwrap();
        assert_ne!(first, second, "another content of the same length");
        fs::write(&file, "one").unwrap();
        assert_eq!(census(dir.path()), Some(first));
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/HEAD"), "x").unwrap();
        assert_eq!(census(dir.path()), Some(first));
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        assert_ne!(census(dir.path()), Some(first));
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(census(&dir.path().join("none")), None);
        for n in 0..=MOST_FILES {
            fs::write(dir.path().join(n.to_string()), "").unwrap();
        }
        assert_eq!(census(dir.path()), None);
    }
}
