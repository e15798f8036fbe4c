//! The tokens for the HTTP API over TCP, where the server cannot tell which user has connected.
//!
//! Stored with ralph's state, which only the user can read and which the sandbox hides from agents. A file
//! that others can read is refused: its tokens are no longer secret.

use std::{fmt, fs, hint::black_box, io, io::Write, os::unix::fs::MetadataExt, path::PathBuf};

use ralph_system::files::{open_unfollowed, secret};
use ralph_text::pretty_json;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::state_file::{self, StateFileError};

/// Most bytes read; the tokens take a quarter of this.
const CAP_BYTES: u64 = 2 << 10;

#[derive(Debug, Error)]
pub enum TokensError {
    #[error(transparent)]
    File(#[from] StateFileError),
    #[error("{path}: readable by others (mode {mode:03o}), so its tokens are no longer secret", path = path.display())]
    Open { path: PathBuf, mode: u32 },
}

/// A secret of 256 bits. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessToken(String);

impl AccessToken {
    /// Generates a token.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> io::Result<Self> {
        secret().map(Self)
    }

    /// The first `digits` of the token, for an address that people may have to type.
    #[must_use]
    pub fn shortened(mut self, digits: usize) -> Self {
        self.0.truncate(digits);
        self
    }

    /// Whether `shown` is this token. Takes the same time for every wrong token of the right length.
    pub fn is(&self, shown: &str) -> bool {
        let (own, shown) = (self.0.as_bytes(), shown.as_bytes());
        // An empty token would be matched by an empty request.
        if own.is_empty() || own.len() != shown.len() {
            return false;
        }
        let different = own
            .iter()
            .zip(shown)
            .fold(0, |different, (own, shown)| black_box(different | (own ^ shown)));
        black_box(different) == 0
    }

    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// The tokens and their rights. A browser exchanges its token for a session, which is known to the server alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessTokens {
    /// Allows everything.
    pub full: AccessToken,
    /// Allows reading.
    pub read_only: AccessToken,
}

impl AccessTokens {
    fn made_up() -> io::Result<Self> {
        Ok(Self {
            full: AccessToken::generate()?,
            read_only: AccessToken::generate()?,
        })
    }
}

/// Identifies the content and the permissions of a file: device, inode, mode, and time of the last change.
pub type FileVersion = (u64, u64, u32, i64, i64);

/// The file that holds the tokens.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the tokens, or creates them if the file is missing. The directory must exist.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn read_or_make(&self) -> Result<AccessTokens, TokensError> {
        if let Some(tokens) = self.read_existing()? {
            return Ok(tokens);
        }
        let tokens = self.made_up()?;
        match self.write_first(&tokens) {
            // Another ralph was faster: its tokens are the valid ones.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.read(),
            written => written.map(|()| tokens).map_err(|source| self.unwritten(source)),
        }
    }

    /// Reads the tokens.
    ///
    /// # Errors
    /// [`TokensError`], also if the file is missing.
    pub fn read(&self) -> Result<AccessTokens, TokensError> {
        match self.read_existing()? {
            Some(tokens) => Ok(tokens),
            None => Err(self.unread(io::ErrorKind::NotFound.into())),
        }
    }

    fn read_existing(&self) -> Result<Option<AccessTokens>, TokensError> {
        let opened = match open_unfollowed(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.unread(error))?,
        };
        if let Some((_, metadata)) = opened
            && metadata.mode() & 0o077 != 0
        {
            let (path, mode) = (self.path.clone(), metadata.mode() & 0o777);
            return Err(TokensError::Open { path, mode });
        }
        Ok(state_file::read(self.path.clone(), CAP_BYTES)?)
    }

    /// Creates new tokens, so that the old ones stop working.
    ///
    /// # Errors
    /// [`StateFileError::Write`]; the old tokens stay valid then.
    pub fn renew(&self) -> Result<AccessTokens, TokensError> {
        let tokens = self.made_up()?;
        state_file::write(self.path.clone(), &tokens)?;
        Ok(tokens)
    }

    /// Returns a value that changes when the file is rewritten or opened to others; `None` if the file is missing.
    pub fn version(&self) -> Option<FileVersion> {
        let metadata = fs::symlink_metadata(&self.path).ok()?;
        let (seconds, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
        Some((metadata.dev(), metadata.ino(), metadata.mode(), seconds, nanoseconds))
    }

    fn made_up(&self) -> Result<AccessTokens, TokensError> {
        AccessTokens::made_up().map_err(|source| self.unwritten(source))
    }

    /// Writes the file whole or not at all, and never over another.
    fn write_first(&self, tokens: &AccessTokens) -> io::Result<()> {
        let dir = self.path.parent().expect("a file has a directory");
        // A temporary file is readable by the user alone from the start.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(pretty_json(tokens).as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&self.path)?;
        Ok(())
    }

    fn unread(&self, error: io::Error) -> TokensError {
        let path = self.path.clone();
        let source = error.into();
        StateFileError::Read { path, source }.into()
    }

    fn unwritten(&self, source: io::Error) -> TokensError {
        let path = self.path.clone();
        StateFileError::Write { path, source }.into()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn tokens_are_made_once_kept_for_the_user_alone_and_made_anew_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let file = TokenFile::new(path.clone());
        assert!(file.read().is_err() && file.version().is_none());
        let tokens = file.read_or_make().unwrap();
        assert_eq!(file.read_or_make().unwrap(), tokens);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let all = [&tokens.full, &tokens.read_only];
        for (n, token) in all.iter().enumerate() {
            assert_eq!(token.secret().len(), 64, "256 bits");
            assert!(token.is(token.secret()) && !token.is(&token.secret()[1..]) && !token.is(""));
            assert!(!token.is(&token.secret().to_uppercase().replace(char::is_numeric, "A")));
            assert!(all[n + 1..].iter().all(|other| !token.is(other.secret())));
            assert!(!format!("{tokens:?}").contains(token.secret()));
        }
        let version = file.version();
        let renewed = file.renew().unwrap();
        assert!(file.version() != version && !renewed.full.is(tokens.full.secret()));
        assert_eq!(file.read().unwrap(), renewed);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn tokens_that_others_can_read_or_that_others_wrote_let_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let file = TokenFile::new(path.clone());
        file.read_or_make().unwrap();
        let version = file.version();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_ne!(file.version(), version, "a server that runs looks again");
        assert!(matches!(
            file.read_or_make(),
            Err(TokensError::Open { mode: 0o640, .. })
        ));
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(
            file.read_or_make(),
            Err(TokensError::File(StateFileError::Garbled { .. }))
        ));
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(
            file.read_or_make(),
            Err(TokensError::File(StateFileError::Read { .. }))
        ));
        // An empty token must not match an empty request.
        assert!(!AccessToken(String::new()).is(""));
    }
}
