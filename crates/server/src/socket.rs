//! The run's socket in the state directory, which only the user can enter.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::HeaderName,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use ralph_state::control::ClientRole;
use tokio::{
    net::UnixListener,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tracing::warn;

use super::{
    connection::{ACCEPT_PAUSE, Timeouts, WriteTimeout, serve_connection},
    served::{RoleLookup, ServerStage},
};

/// Header that reduces a request to reading. `ralph web` sets it for clients with a read-only token.
pub(super) const ONLY_LOOKS: HeaderName = HeaderName::from_static("ralph-only-looks");

/// Header of a request that was forwarded from another server.
pub(super) const PASSED_ON: HeaderName = HeaderName::from_static("ralph-passed-on");

/// Maximum number of connections of the user's own commands and screens.
const CONNECTIONS: usize = 256;
/// Maximum number of connections of processes started by the run, which must not lock the user out.
const OF_THE_RUN: usize = 32;

/// Interval of checks that the socket file still exists: a clean-up may remove it.
const LOOK: Duration = Duration::from_secs(5);

/// The bound socket. Its file is removed on drop if it is still the same.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// Device and inode of the socket file.
    identity: Option<(u64, u64)>,
}

impl Socket {
    pub(super) fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        // Its directory is the user's alone in any case.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self {
            path: path.to_owned(),
            identity: identity(path),
            listener,
        })
    }

    /// Serves connections until `stages` stops new ones, and then until the existing ones end.
    pub(crate) async fn serve(
        mut self,
        routes: Router,
        role_of: RoleLookup,
        timeouts: Timeouts,
        mut stages: watch::Receiver<ServerStage>,
    ) {
        let (of_user, of_run) = (
            Arc::new(Semaphore::new(CONNECTIONS)),
            Arc::new(Semaphore::new(OF_THE_RUN)),
        );
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let seen = stages.clone();
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                _ = stages.wait_for(|stage| *stage >= ServerStage::Closing) => break,
                _ = look.tick() => {
                    self.make_anew();
                    continue;
                }
                _ = connections.join_next(), if !connections.is_empty() => continue,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Most likely out of descriptors. That passes, and the connection waits.
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let role = role_of(&stream);
            let free = match role {
                ClientRole::User => &of_user,
                ClientRole::Reader | ClientRole::Agent => &of_run,
            };
            // A client with this many connections hangs, so further ones are closed.
            let Ok(permit) = Arc::clone(free).try_acquire_owned() else {
                continue;
            };
            let (routes, stages) = (routes.clone().layer(from_fn_with_state(role, as_told)), seen.clone());
            connections.spawn(async move {
                match role {
                    // A suspended screen reads nothing, and resumes later, so it has no timeout.
                    ClientRole::User => serve_connection(stream, routes, timeouts, stages).await,
                    ClientRole::Reader | ClientRole::Agent => {
                        let stream = WriteTimeout::new(stream, timeouts.reading);
                        serve_connection(stream, routes, timeouts, stages).await;
                    }
                }
                drop(permit);
            });
        }
        drop(self);
        // Connections end by themselves once the hub is closed. The process limits how long it waits for this.
        while connections.join_next().await.is_some() {}
    }

    /// Binds the socket again if its file is gone or was replaced.
    fn make_anew(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            return;
        }
        match Self::bind(&self.path) {
            Ok(anew) => *self = anew,
            Err(error) => warn!(path = %self.path.display(), %error, "the socket was removed and cannot be made anew"),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            _ = fs::remove_file(&self.path); // without it, the kernel refuses connections to the dead socket
        }
    }
}

/// Marks a request that came directly over the run's socket and was not forwarded.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectRequest;

/// Middleware that sets the role of the peer, or the lesser one that the request asks for.
async fn as_told(State(role): State<ClientRole>, mut request: Request, next: Next) -> Response {
    let role = match role {
        ClientRole::User if request.headers().contains_key(ONLY_LOOKS) => ClientRole::Reader,
        ClientRole::User | ClientRole::Reader | ClientRole::Agent => role,
    };
    request.extensions_mut().insert(role);
    if !request.headers().contains_key(PASSED_ON) {
        request.extensions_mut().insert(DirectRequest);
    }
    next.run(request).await
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
