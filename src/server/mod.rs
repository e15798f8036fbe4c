//! The HTTP API of a run: the state, the events as they happen, commands. Over the run's socket, which is always there.
//!
//! It has a thread of its own, so that no client, whatever it does, takes time from the loop. It decides nothing: what is
//! asked goes to the loop ([`Handle`]), what happens comes from the [`Hub`].

mod connection;
mod events;
mod page;
mod problem;
mod routes;
mod screens;
mod served;
mod socket;
mod stream;
#[cfg(test)]
mod tests;

use std::{io, path::Path, sync::Arc, thread, time::Duration};

use tokio::{
    runtime::Builder,
    sync::{mpsc, watch},
};

use crate::driver::{Handle, Hub};

pub(crate) use screens::Shown;
pub(crate) use served::RoleOf;
use served::{Served, Stage};
use socket::Socket;

/// How long a client may take to read the rest when the run is over.
const PATIENCE: Duration = Duration::from_secs(1);

/// A server at work.
#[derive(Debug)]
pub(crate) struct Server {
    served: Arc<Served>,
    stage: watch::Sender<Stage>,
    /// Ends when no connection is left.
    served_out: mpsc::Receiver<()>,
}

impl Server {
    /// Serves the run behind `handle` and `hub` on the socket at `path`. The caller holds the project's lock, so a socket that
    /// is there already is a dead one.
    ///
    /// # Errors
    /// If the socket cannot be made, or there can be no thread.
    pub(crate) fn start(path: &Path, handle: Handle, hub: Hub, shown: Shown, role_of: RoleOf) -> io::Result<Self> {
        let served = Arc::new(Served::new(handle, hub, shown));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let socket = {
            let _entered = runtime.enter();
            Socket::bind(path)?
        };
        let (stage, stages) = watch::channel(Stage::Open);
        let (serving, served_out) = mpsc::channel(1);
        let routes = routes::router(Arc::clone(&served));
        let serve = move || runtime.block_on(socket.serve(routes, role_of, stages, serving));
        thread::Builder::new().name("server".to_owned()).spawn(serve)?;
        Ok(Self {
            served,
            stage,
            served_out,
        })
    }

    /// Takes no more connections: whoever asks from here on finds nobody, instead of somebody who does not answer.
    pub(crate) fn stop_listening(&self, exit: Option<u8>) {
        if let Some(exit) = exit {
            self.served.end_with(exit);
        }
        self.stage.send_replace(Stage::Closing);
    }

    /// Waits until clients have been told what there was to tell: the last reply is often that to what has ended the run.
    pub(crate) async fn close(mut self) {
        self.stop_listening(None);
        // Whoever does not read has had its chance.
        _ = tokio::time::timeout(PATIENCE, self.served_out.recv()).await;
    }
}
