//! The run's socket in the state directory, which only the user can enter.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::Router;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, watch},
    time::{MissedTickBehavior, interval},
};
use tracing::warn;

use super::{
    connection::serve_connection,
    served::{RoleOf, Stage},
};

/// Connections at a time; more wait until one has ended.
const CONNECTIONS: usize = 256;

/// How long to leave connections alone when none can be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whether the socket is still there: something may tidy up what it lies in.
const LOOK: Duration = Duration::from_secs(2);

/// The socket, as it was bound; its file is removed with this value if it is still the same.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// Device and inode.
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
        Ok(Self {
            path: path.to_owned(),
            identity: identity(path),
            listener,
        })
    }

    /// Serves connections until `stages` says that no more are taken, and then those that there are. Whoever waits for that
    /// has the other end of `serving`.
    pub(super) async fn serve(
        mut self,
        routes: Router,
        role_of: RoleOf,
        mut stages: watch::Receiver<Stage>,
        serving: mpsc::Sender<()>,
    ) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let seen = stages.clone();
        loop {
            let accepted = tokio::select! {
                _ = stages.wait_for(|stage| *stage >= Stage::Closing) => break,
                _ = look.tick() => {
                    self.make_anew();
                    continue;
                }
                accepted = accept(&self.listener, &free) => accepted,
            };
            match accepted {
                Ok((stream, permit)) => {
                    let (role, stages, serving) = (role_of(&stream), seen.clone(), serving.clone());
                    let routes = routes.clone();
                    tokio::spawn(async move {
                        serve_connection(stream, role, routes, stages).await;
                        drop((permit, serving));
                    });
                }
                // Out of descriptors, most likely: that passes, and the connection waits.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(self);
        drop(serving);
        // Connections end by themselves once the hub is closed; the process does not wait for longer than it wants.
        _ = free.acquire_many(CONNECTIONS as u32).await;
    }

    /// Binds the socket anew if its file is gone, or is another's.
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
            _ = fs::remove_file(&self.path); // a dead socket is refused by the kernel as well
        }
    }
}

/// Waits for a connection once there is room for one.
async fn accept(
    listener: &UnixListener,
    free: &Arc<Semaphore>,
) -> io::Result<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(free)
        .acquire_owned()
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
