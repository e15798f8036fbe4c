//! The TCP listener of a run, or of a server for all runs. It is bound before any process starts, so that a failure is
//! reported early.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
};

use ralph_server::{Listening, access::Authorizer};
use ralph_state::{control::is_listened_to, store::tokens::TokenFile};
use ralph_system::paths::ProjectPaths;

use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// Binds the address in the settings, if there is one.
///
/// # Errors
/// A [`Failure`] if the address cannot be bound, or if listening there would be unsafe.
pub(super) fn listening(paths: &ProjectPaths, config: &Config) -> Result<Option<Listening>, Failure> {
    let Some(address) = config.listen else {
        return Ok(None);
    };
    let bound = match bind(address, &config.behind_proxy) {
        // The project's own running loop has the port. Opening the run reports that more clearly.
        Err(BindFailure::Taken(_)) if is_listened_to(&paths.socket()) => return Ok(None),
        bound => bound?,
    };
    paths.create()?;
    listen(bound, TokenFile::new(paths.tokens()), &config.behind_proxy).map(Some)
}

/// Why an address was not bound.
pub(crate) enum BindFailure {
    Taken(SocketAddr),
    Refused(Failure),
}

/// Binds `address`, which has to be a loopback address unless there is a proxy in front of it.
///
/// # Errors
/// [`BindFailure`].
pub(crate) fn bind(address: SocketAddr, proxied: &[String]) -> Result<TcpListener, BindFailure> {
    if !address.ip().is_loopback() && proxied.is_empty() {
        let port = address.port();
        let failure = Failure::new(
            FailureKind::Configuration,
            format!("refusing to listen on {address}: other machines can reach it, and the connection is not encrypted"),
        )
        .hint(format!(
            "listen at 127.0.0.1:{port}; from another machine: `ralph web` here, and `ssh -L` to its socket (docs/guide/web.md)"
        ))
        .hint("behind an encrypting proxy, give its host name: `--behind-proxy ralph.example.org`");
        return Err(BindFailure::Refused(failure));
    }
    TcpListener::bind(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => BindFailure::Taken(address),
        _ => BindFailure::Refused(
            Failure::new(
                FailureKind::Configuration,
                format!("cannot listen at {address}: {error}"),
            )
            .hint("`--listen 127.0.0.1:0` takes a free port of this machine"),
        ),
    })
}

/// Adds to `listener` the authorization of clients by `tokens`.
///
/// # Errors
/// A [`Failure`] if there is no address, or if the tokens cannot be read or created.
pub(crate) fn listen(listener: TcpListener, tokens: TokenFile, proxied: &[String]) -> Result<Listening, Failure> {
    let address = listener
        .local_addr()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("the listener has no address: {error}")))?;
    Ok(Listening {
        access: Arc::new(Authorizer::open(tokens, address, proxied)?),
        listener,
    })
}

impl From<BindFailure> for Failure {
    fn from(error: BindFailure) -> Self {
        match error {
            BindFailure::Taken(address) => Failure::new(
                FailureKind::Configuration,
                format!("cannot listen at {address}: something else does already"),
            )
            .hint("name another port; `--listen 127.0.0.1:0` takes a free one"),
            BindFailure::Refused(failure) => failure,
        }
    }
}
