//! A TCP listener for clients with a token.
//!
//! Any process on this machine can connect. The number of connections without a valid token is limited, and a new one
//! replaces the oldest: idle connections lock no client out, and take few descriptors from the run. One that has just come
//! has a second to show its token, so that a flood of strangers replaces its own.

use std::{
    collections::VecDeque,
    io,
    net::{SocketAddr, TcpListener as Bound},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{Extension, Router};
use parking_lot::Mutex;
use ralph_system::proc::{ClientOrigin, ProcessOrigin, origin_of_client};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::{AbortHandle, JoinSet, spawn_blocking},
};

use super::{
    connection::{ACCEPT_PAUSE, Timeouts, WriteTimeout, serve_connection},
    served::ServerStage,
};

/// Maximum number of connections that have shown no token yet.
const MAX_UNAUTHENTICATED: usize = 64;
/// Time that a connection has to show its token, while there is room.
const GRACE: Duration = Duration::from_secs(1);
/// Maximum number of connections without a token, with those in their [`GRACE`].
const MAX_WITH_NEW: usize = 192;
/// Maximum number of connections that have shown a token.
const MAX_AUTHENTICATED: usize = 192;

/// Serves `routes` on `listener` until `stages` stops new connections, and then until the existing ones end.
///
/// # Errors
/// If the listener cannot be used.
pub(super) async fn serve_tcp(
    listener: Bound,
    routes: Router,
    timeouts: Timeouts,
    mut stages: watch::Receiver<ServerStage>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let (free, unauthenticated) = (
        Arc::new(Semaphore::new(MAX_AUTHENTICATED)),
        Arc::new(Unauthenticated::default()),
    );
    let seen = stages.clone();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stages.wait_for(|stage| *stage >= ServerStage::Closing) => break,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, client)) = accepted else {
            // Most likely out of descriptors. That passes, and the connection waits.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        bound_silence(&stream, timeouts.reading);
        let caller = Arc::new(TcpClient {
            number: unauthenticated.next_number(),
            unauthenticated: Arc::clone(&unauthenticated),
            free: Arc::clone(&free),
            permit: OnceLock::new(),
            ends: stream.local_addr().ok().map(|server| (client, server)),
            origin: OnceLock::new(),
        });
        let (routes, stages) = (routes.clone().layer(Extension(Arc::clone(&caller))), seen.clone());
        let number = caller.number;
        let task = connections.spawn(async move {
            serve_connection(WriteTimeout::new(stream, timeouts.reading), routes, timeouts, stages).await;
            caller.unauthenticated.forget(caller.number);
        });
        unauthenticated.came(number, Instant::now(), task);
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Has the kernel end a connection whose peer has vanished, that is, if sent data stays unacknowledged.
fn bound_silence(stream: &TcpStream, patience: Duration) {
    #[cfg(target_os = "linux")]
    {
        let ms = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        _ = rustix::net::sockopt::set_tcp_user_timeout(stream, ms); // without it, the connection ends later
    }
    _ = stream.set_nodelay(true); // without it, answers are slower
    #[cfg(not(target_os = "linux"))]
    let _ = patience;
}

/// The client of a connection.
#[derive(Debug)]
pub(super) struct TcpClient {
    number: u64,
    unauthenticated: Arc<Unauthenticated>,
    free: Arc<Semaphore>,
    /// Set once a token was shown.
    permit: OnceLock<OwnedSemaphorePermit>,
    /// The client's address, and the server address that it connected to.
    ends: Option<(SocketAddr, SocketAddr)>,
    /// Set once the process at the other end was found.
    origin: OnceLock<ProcessOrigin>,
}

impl TcpClient {
    /// The origin of the client's process: an agent that has found a token stays an agent.
    pub(super) async fn origin(&self) -> ProcessOrigin {
        match (self.origin.get(), self.ends) {
            (Some(origin), _) => *origin,
            (None, Some((client, server))) => {
                // The search inspects every process. Other connections are served meanwhile.
                let look = spawn_blocking(move || origin_of_client(client, server));
                let seen = look.await.unwrap_or(ClientOrigin {
                    origin: ProcessOrigin::Unknown,
                    is_settled: false,
                });
                if seen.is_settled {
                    _ = self.origin.set(seen.origin); // another request of the same connection was first
                }
                seen.origin
            }
            (None, None) => ProcessOrigin::Unknown,
        }
    }

    /// Counts the connection among those with a token from here on. Returns whether there was room.
    pub(super) fn is_admitted(&self) -> bool {
        if self.permit.get().is_none() {
            let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
                return false;
            };
            _ = self.permit.set(permit); // another request of the same connection was first
            self.unauthenticated.forget(self.number);
        }
        true
    }
}

/// The connections that have shown no token, oldest first.
#[derive(Debug, Default)]
struct Unauthenticated(Mutex<PendingConnections>);

#[derive(Debug, Default)]
struct PendingConnections {
    connections: VecDeque<PendingConnection>,
    next: u64,
}

#[derive(Debug)]
struct PendingConnection {
    number: u64,
    came: Instant,
    task: AbortHandle,
}

impl Unauthenticated {
    fn next_number(&self) -> u64 {
        let mut waiting = self.0.lock();
        waiting.next += 1;
        waiting.next
    }

    /// Adds a connection that came at `now`, and closes the oldest if there are too many.
    fn came(&self, number: u64, now: Instant, task: AbortHandle) {
        let mut waiting = self.0.lock();
        if task.is_finished() {
            return;
        }
        waiting.connections.push_back(PendingConnection {
            number,
            came: now,
            task,
        });
        while let Some(oldest) = waiting.connections.front() {
            let most = match now.duration_since(oldest.came) < GRACE {
                true => MAX_WITH_NEW,
                false => MAX_UNAUTHENTICATED,
            };
            if waiting.connections.len() <= most {
                return;
            }
            oldest.task.abort();
            waiting.connections.pop_front();
        }
    }

    fn forget(&self, number: u64) {
        let mut waiting = self.0.lock();
        waiting.connections.retain(|other| other.number != number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    #[tokio::test]
    async fn a_flood_replaces_its_own_and_leaves_a_new_connection_its_second() {
        let waiting = Unauthenticated::default();
        let began = Instant::now();
        let come = |after_ms: u64| {
            let task = tokio::spawn(pending::<()>());
            let at = began + Duration::from_millis(after_ms);
            waiting.came(waiting.next_number(), at, task.abort_handle());
            task
        };
        let left = async |tasks: &[JoinHandle<()>]| {
            for _ in 0..16 {
                yield_now().await;
            }
            tasks.iter().filter(|task| !task.is_finished()).count()
        };
        let hanging: Vec<_> = (0..64).map(|_| come(0)).collect();
        // The first of these is of a client that has a token.
        let mut flood: Vec<_> = (0..150).map(|at| come(2_000 + 6 * at)).collect();
        assert_eq!((left(&hanging).await, left(&flood).await), (0, 150));
        flood.extend((0..100).map(|_| come(2_900)));
        assert_eq!(left(&flood).await, MAX_WITH_NEW);
        flood.push(come(4_000));
        assert_eq!(left(&flood).await, MAX_UNAUTHENTICATED);
    }
}
