//! Which server, how to get in, and how long to wait for what.

use std::{env, fmt, io, time::Duration};

use ralph_system::files::secret;

use super::server_url::ServerUrl;

/// The first port to start a server on.
const PORT: u16 = 4190;

/// What the user has to say about servers.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The server to use; none to start one.
    pub url: Option<ServerUrl>,
    /// How long a connection may take, and the answer to whether the server is well.
    pub timeout: Duration,
    pub credentials: Option<Credentials>,
    /// The first port of this machine to start one on.
    pub port: u16,
    pub patience: Patience,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            url: None,
            timeout: Duration::from_millis(5000),
            credentials: None,
            port: PORT,
            patience: Patience::default(),
        }
    }
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a byte of the stream; the server's heart beats every ten seconds.
    pub silence: Duration,
    /// For a lost stream to come back.
    pub reconnect: Duration,
    /// For a server that was started to answer.
    pub start: Duration,
    /// For an aborted session to do nothing any more.
    pub abort: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            reconnect: Duration::from_secs(30),
            start: Duration::from_secs(120),
            abort: Duration::from_secs(5),
        }
    }
}

/// What a server lets in.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}

impl Credentials {
    const USERNAME: &str = "opencode";
    pub(super) const USERNAME_VAR: &str = "OPENCODE_SERVER_USERNAME";
    pub const PASSWORD_VAR: &str = "OPENCODE_SERVER_PASSWORD";

    /// A random password.
    ///
    /// # Errors
    /// The system has no random numbers to give.
    pub(super) fn made_up() -> io::Result<Self> {
        Ok(Self {
            username: Self::USERNAME.to_owned(),
            password: secret()?,
        })
    }

    /// What the environment has, where opencode itself looks for it; none without a password.
    pub fn from_env() -> Option<Self> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Some(Self {
            password: set(Self::PASSWORD_VAR)?,
            username: set(Self::USERNAME_VAR).unwrap_or_else(|| Self::USERNAME.to_owned()),
        })
    }
}

/// Without the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}
