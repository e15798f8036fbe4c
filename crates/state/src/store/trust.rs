//! The project's own files that the user has trusted.
//!
//! The texts are stored with the project's state, not in its tree, as the rules of answers are: neither an agent nor a
//! foreign clone can bring trust along. They are kept whole, so that they can be compared byte by byte and changes
//! be shown.

use std::{collections::BTreeMap, fs, io};

use ralph_system::paths::{PathsError, ProjectPaths};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::state_file::{self, StateFileError};

/// Most bytes of all trusted files: settings, a prompt and dozens of adapters are far smaller.
const CAP_BYTES: u64 = 8 << 20;

#[derive(Debug, Error)]
pub enum TrustError {
    #[error(transparent)]
    File(#[from] StateFileError),
    #[error("the project's own files are too large to be trusted: more than {} MiB", CAP_BYTES >> 20)]
    TooLarge,
    #[error(transparent)]
    Paths(#[from] PathsError),
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    files: BTreeMap<String, String>,
}

/// Reads the trusted files of a project, their texts by their names.
///
/// # Errors
/// [`StateFileError::Read`] and [`StateFileError::Garbled`].
pub fn trusted(paths: &ProjectPaths) -> Result<BTreeMap<String, String>, TrustError> {
    // JSON needs more room for a text than the text itself.
    let written: Option<TrustFile> = state_file::read(paths.trust(), 8 * CAP_BYTES)?;
    Ok(written.unwrap_or_default().files)
}

/// Trusts exactly these files from now on.
///
/// # Errors
/// [`TrustError`]; the trusted files stay as they were.
pub fn trust(paths: &ProjectPaths, files: BTreeMap<String, String>) -> Result<(), TrustError> {
    let bytes: usize = files.iter().map(|(name, text)| name.len() + text.len()).sum();
    if bytes as u64 > CAP_BYTES {
        return Err(TrustError::TooLarge);
    }
    paths.create()?;
    Ok(state_file::write(paths.trust(), &TrustFile { files })?)
}

/// Removes the trust; false if no file was trusted.
///
/// # Errors
/// [`StateFileError::Write`].
pub fn revoke(paths: &ProjectPaths) -> Result<bool, TrustError> {
    let path = paths.trust();
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StateFileError::Write { path, source }.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::Path};

    use super::*;

    fn files(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
        let texts = texts.iter();
        texts
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_trusted_is_kept_for_each_project_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        assert_eq!(trusted(&paths).unwrap(), files(&[]));
        let both = files(&[("a", "1\u{1b}\n"), ("b", "")]);
        trust(&paths, both.clone()).unwrap();
        assert_eq!(trusted(&paths).unwrap(), both);
        trust(&paths, files(&[("b", "2")])).unwrap();
        assert_eq!(trusted(&paths).unwrap(), files(&[("b", "2")]));
        let other = ProjectPaths::new(Path::new("/b/app"), Some(dir.path())).unwrap();
        assert_eq!(trusted(&other).unwrap(), files(&[]));
        assert!(revoke(&paths).unwrap() && !revoke(&paths).unwrap());
        assert_eq!(trusted(&paths).unwrap(), files(&[]));
    }

    #[test]
    fn what_nobody_has_written_so_is_named_and_what_is_too_large_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        let large = "x".repeat(9 << 20);
        assert!(matches!(
            trust(&paths, files(&[("a", &large)])),
            Err(TrustError::TooLarge)
        ));
        paths.create().unwrap();
        fs::write(paths.trust(), "{").unwrap();
        assert!(matches!(
            trusted(&paths),
            Err(TrustError::File(StateFileError::Garbled { .. }))
        ));
        // A link may lead to another user's file, and a pipe would block.
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(paths.trust(), &elsewhere).unwrap();
        symlink(&elsewhere, paths.trust()).unwrap();
        assert!(matches!(
            trusted(&paths),
            Err(TrustError::File(StateFileError::Read { .. }))
        ));
        fs::remove_file(paths.trust()).unwrap();
        nix::unistd::mkfifo(&paths.trust(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(
            trusted(&paths),
            Err(TrustError::File(StateFileError::Read { .. }))
        ));
    }
}
