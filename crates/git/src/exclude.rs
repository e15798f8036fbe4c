//! Has git ignore files in one repository without a change of the project, through `info/exclude`, which all its work
//! trees share.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use nix::fcntl::OFlag;
use ralph_system::files::{self, ReadError};

use super::{Branches, GitError, Repository};

/// Far above a list that people keep by hand.
const CAP_BYTES: u64 = 1 << 20;
const WHY: &str = "# Added by ralph; do not commit:";

impl Repository {
    /// Has git ignore files that match these patterns in all work trees of the repository.
    ///
    /// # Errors
    /// [`GitError::File`] if `info/exclude` cannot be read or written, or if it is a symbolic link and a line is
    /// missing.
    pub fn exclude(&self, patterns: &[&str]) -> Result<(), GitError> {
        exclude_in(&self.layout.common_dir, patterns)
    }
}

/// As [`Repository::exclude`], for the repository of a batch.
///
/// # Errors
/// As [`Repository::exclude`].
pub fn exclude(branches: &Branches, patterns: &[&str]) -> Result<(), GitError> {
    exclude_in(branches.common_dir(), patterns)
}

fn exclude_in(common_dir: &Path, patterns: &[&str]) -> Result<(), GitError> {
    let path = common_dir.join("info/exclude");
    let known = match files::read_bytes(&path, CAP_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.is_missing() => String::new(),
        Err(ReadError::System(source)) => return Err(GitError::File { path, source }),
        Err(error) => {
            let source = io::Error::other(error);
            return Err(GitError::File { path, source });
        }
    };
    let is_missing = |pattern: &&&str| !known.lines().any(|line| line.trim_end() == **pattern);
    let missing: Vec<&str> = patterns.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let end = if known.is_empty() || known.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    append(path, &format!("{end}{WHY}\n{}\n", missing.join("\n")))
}

/// Appends to a file that others may append to at the same time. Does not follow a link, which an agent could have
/// pointed at any file of the user's.
fn append(path: PathBuf, text: &str) -> Result<(), GitError> {
    let append = || {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut options = OpenOptions::new();
        let options = options.append(true).create(true);
        let mut file = options.custom_flags(OFlag::O_NOFOLLOW.bits()).open(&path)?;
        file.write_all(text.as_bytes())
    };
    append().map_err(|source| GitError::File { path, source })
}
