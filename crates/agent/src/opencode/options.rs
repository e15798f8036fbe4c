//! The user's options for servers: address, credentials, time limits.

use std::{env, fmt, io, time::Duration};

use ralph_system::files::secret;

use super::server_url::ServerUrl;

/// The default for the first port that is tried for a new server.
const PORT: u16 = 4190;

/// The user's options for servers.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The server to use; `None` to start one.
    pub url: Option<ServerUrl>,
    /// The timeout of a connection, and of a health check.
    pub timeout: Duration,
    pub credentials: Option<Credentials>,
    /// The first local port that is tried for a new server.
    pub port: u16,
    pub patience: ServerTimeouts,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            url: None,
            timeout: Duration::from_millis(5000),
            credentials: None,
            port: PORT,
            patience: ServerTimeouts::default(),
        }
    }
}

/// Time limits for waiting.
#[derive(Debug, Clone, Copy)]
pub struct ServerTimeouts {
    /// For the next byte of the stream; the server sends a heartbeat every ten seconds.
    pub silence: Duration,
    /// For reopening a lost stream.
    pub reconnect: Duration,
    /// For the first answer of a server that ralph started.
    pub start: Duration,
    /// For an aborted session to become idle.
    pub abort: Duration,
}

impl Default for ServerTimeouts {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            reconnect: Duration::from_secs(30),
            start: Duration::from_secs(120),
            abort: Duration::from_secs(5),
        }
    }
}

/// The user name and password of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}

impl Credentials {
    const USERNAME: &str = "opencode";
    pub(super) const USERNAME_VAR: &str = "OPENCODE_SERVER_USERNAME";
    pub const PASSWORD_VAR: &str = "OPENCODE_SERVER_PASSWORD";

    /// Creates credentials with a random password.
    ///
    /// # Errors
    /// The system's random number source fails.
    pub(super) fn made_up() -> io::Result<Self> {
        Ok(Self {
            username: Self::USERNAME.to_owned(),
            password: secret()?,
        })
    }

    /// Reads the environment variables that opencode itself uses; `None` without a password.
    pub fn from_env() -> Option<Self> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Some(Self {
            password: set(Self::PASSWORD_VAR)?,
            username: set(Self::USERNAME_VAR).unwrap_or_else(|| Self::USERNAME.to_owned()),
        })
    }
}

/// Omits the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}
