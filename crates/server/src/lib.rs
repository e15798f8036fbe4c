//! The HTTP API of a run: its state, its events as they happen, and commands. It is always available at the run's
//! socket.
//!
//! The server has its own thread, so that clients cannot slow down the loop. It decides nothing: requests go to the
//! loop ([`LoopHandle`]), events come from the [`Hub`].

#![deny(unreachable_pub)]

pub mod access;
mod answering;
mod archive;
mod background;
#[cfg(feature = "batches")]
mod batches;
mod compression;
mod connection;
mod events;
mod extract;
mod files;
mod gateway;
mod json;
mod page;
mod past;
mod plan_file;
mod problem;
mod routes;
mod rows;
mod runs;
mod schema;
mod screens;
mod served;
mod sessions;
mod socket;
mod start;
mod stream;
mod tcp;
mod terminal;
#[cfg(test)]
mod tests;

use std::{io, net::TcpListener, ops::Deref, path::Path, sync::Arc, thread, time::Duration};

use axum::{Router, middleware::from_fn_with_state};
use ralph_driver::LoopHandle;
use ralph_driver::hub::Hub;
use ralph_state::control::frames::ScreenFacts;
use ralph_system::diagnostics::inherited;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{mpsc, watch},
};
use tracing::warn;

use access::Authorizer;
pub use archive::{Archive, SharedReaders, StoredRun};
use connection::{Timeouts, take_body};
pub use gateway::serve as serve_all;
pub use served::RoleLookup;
use served::{ServedRun, ServerStage};
use socket::Socket;
pub use start::{AdapterOffer, AgentOffers};
use tcp::serve_tcp;

/// Time a client has to read the rest when the run is over.
const PATIENCE: Duration = Duration::from_secs(1);

/// A TCP listener with its authorization.
#[derive(Debug)]
pub struct Listening {
    pub listener: TcpListener,
    pub access: Arc<Authorizer>,
}

impl Listening {
    /// The address for a browser or a program.
    pub fn url(&self) -> String {
        format!("http://{}", self.access.address())
    }
}

/// A runtime that may be dropped within another one, where tokio's own would panic: the loop's runtime starts the
/// server, and a later step of the start may fail.
struct OwnedRuntime(Option<Runtime>);

impl Deref for OwnedRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OwnedRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct RunServer {
    served: Arc<ServedRun>,
    stage: watch::Sender<ServerStage>,
    /// Closed when no connection is left.
    served_out: mpsc::Receiver<()>,
}

impl RunServer {
    /// Serves `run` at the socket `path` and, with a token, at `listening`. `handle` and `hub` connect to the run's
    /// loop.
    /// The caller holds the project's lock, so an existing socket is dead.
    ///
    /// # Errors
    /// If the socket or a thread cannot be created.
    pub fn start(
        path: &Path,
        run: StoredRun,
        handle: LoopHandle,
        hub: Hub,
        shown: ScreenFacts,
        role_of: RoleLookup,
        listening: Option<Listening>,
    ) -> io::Result<Self> {
        let served = Arc::new(ServedRun::new(
            run.run().clone(),
            handle,
            hub,
            shown,
            listening.as_ref().map(Listening::url),
        ));
        let runtime = OwnedRuntime(Some(Builder::new_current_thread().enable_all().build()?));
        let socket = {
            let _entered = runtime.enter();
            Socket::bind(path)?
        };
        let (stage, stages) = watch::channel(ServerStage::Open);
        let (serving, served_out) = mpsc::channel(1);
        let timeouts = Timeouts::from_env();
        let routes = routes::router(Arc::clone(&served), run).layer(from_fn_with_state(timeouts, take_body));
        let serve = move || {
            runtime.block_on(async {
                let over_tcp = over_tcp(listening, routes.clone(), timeouts, stages.clone());
                let over_socket = socket.serve(routes.merge(page::routes()), role_of, timeouts, stages);
                tokio::join!(over_tcp, over_socket);
            });
            drop(serving);
        };
        thread::Builder::new()
            .name("server".to_owned())
            .spawn(inherited(serve))?;
        Ok(Self {
            served,
            stage,
            served_out,
        })
    }

    /// Stops accepting connections, so that later clients find no socket instead of a silent one.
    pub fn stop_listening(&self, exit: Option<u8>) {
        if let Some(exit) = exit {
            self.served.end_with(exit);
        }
        self.stage.send_replace(ServerStage::Closing);
    }

    /// Waits until clients have read their last answers. The last one is often the reply to the command that ended the
    /// run.
    pub async fn close(mut self) {
        self.stop_listening(None);
        // Clients that do not read in time are dropped.
        _ = tokio::time::timeout(PATIENCE, self.served_out.recv()).await;
    }
}

async fn over_tcp(
    listening: Option<Listening>,
    routes: Router,
    timeouts: Timeouts,
    stages: watch::Receiver<ServerStage>,
) {
    let Some(Listening { listener, access }) = listening else {
        return;
    };
    let routes = access.guard(routes, page::routes());
    if let Err(error) = serve_tcp(listener, routes, timeouts, stages).await {
        warn!(address = %access.address(), %error, "nothing can be served at this address");
    }
}
