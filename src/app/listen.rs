//! Serves a run at its socket, and over TCP where the settings ask for it.
//!
//! The TCP listener of a run, or of a server for all runs, is bound before any process starts, so that a failure is reported
//! early.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::AsFd,
    sync::Arc,
};

use futures_util::future::LocalBoxFuture;
use ralph_driver::Driver;
use ralph_server::{Archive, Listening, RunServer, SharedReaders, access::Authorizer};
use ralph_state::{
    control::{ClientRole, frames::ScreenFacts, is_listened_to},
    store::tokens::TokenFile,
};
use ralph_system::{paths::ProjectPaths, proc::ProcessOrigin};
use tokio::net::UnixStream;

use crate::{
    config::Config,
    error::{Failure, FailureKind},
    host::{Serve, ServedRun},
};

/// Returns what serves a run, with its address if it listens over TCP.
///
/// # Errors
/// A [`Failure`] if the address in the settings cannot be bound, or if listening there would be unsafe.
pub(super) fn serving(paths: &ProjectPaths, config: &Config) -> Result<(Option<String>, Serve), Failure> {
    let listening = listening(paths, config)?;
    let url = listening.as_ref().map(Listening::url);
    let paths = paths.clone();
    let serve: Serve = Box::new(move |driver, shown| {
        let server = serve(&paths, driver, shown, listening)?;
        Ok(Box::new(server) as Box<dyn ServedRun>)
    });
    Ok((url, serve))
}

impl ServedRun for RunServer {
    fn stop_listening(&self, exit: Option<u8>) {
        RunServer::stop_listening(self, exit);
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(RunServer::close(*self))
    }
}

/// Serves the run on its socket, to each client in the role that its process has, and at the address in `listening`.
fn serve(
    paths: &ProjectPaths,
    driver: &Driver,
    shown: ScreenFacts,
    listening: Option<Listening>,
) -> io::Result<RunServer> {
    paths.make_socket_dir()?;
    let supervisor = driver.supervisor().clone();
    let role_of = move |peer: &UnixStream| {
        let pid = peer.peer_cred().ok().and_then(|credentials| credentials.pid());
        match supervisor.origin(peer.as_fd(), pid) {
            ProcessOrigin::Elsewhere => ClientRole::User,
            // A client that hides its origin gets no more rights than an agent.
            ProcessOrigin::Run | ProcessOrigin::OtherUser | ProcessOrigin::Unknown => ClientRole::Agent,
        }
    };
    let archive = Archive::new(paths.clone(), SharedReaders::new(driver.supervisor()));
    RunServer::start(
        &paths.socket(),
        archive
            .stored_run(shown.run.clone())
            .including(shown.show.include.clone()),
        driver.handle(),
        driver.hub(),
        shown,
        Box::new(role_of),
        listening,
    )
}

/// Binds the address in the settings, if there is one.
///
/// # Errors
/// A [`Failure`] if the address cannot be bound, or if listening there would be unsafe.
fn listening(paths: &ProjectPaths, config: &Config) -> Result<Option<Listening>, Failure> {
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
