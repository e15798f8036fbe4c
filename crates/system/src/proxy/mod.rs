//! The only way out of a strict sandbox: an HTTP proxy on this machine that connects to listed hosts and to no others.
//!
//! A client needs a token, since every user of the machine can connect to the proxy's port; the token also selects the
//! list of hosts. Names are resolved here, and the connection goes to the very address that was checked: a name that
//! resolves differently a moment later has no effect.

mod clients;
mod head;
mod serve;

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::{runtime, sync::oneshot};

pub use clients::RefusedConnection;

use crate::{files::secret, sandbox::hosts::AllowedHosts};
use clients::ProxyClients;

const USER: &str = "ralph";

/// The proxy, on a thread of its own that ends when this value is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    clients: Arc<ProxyClients>,
    /// Ends the thread when dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that admits no client yet.
    ///
    /// # Errors
    /// If this machine has no port or no thread for it.
    pub fn start(on_refused: impl Fn(RefusedConnection) + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let clients = Arc::new(ProxyClients::new(Box::new(on_refused)));
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&clients);
        let thread = thread::Builder::new().name("ralph-proxy".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve::serve(listener, serving) => {}
                    _ = stopped => {}
                }
            });
            // Without waiting for names that are being resolved.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            port,
            clients,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Admits a client that may connect to `hosts`; returns the URL that it is to use.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn admit(&self, hosts: AllowedHosts) -> io::Result<String> {
        let token = secret()?;
        let shown = head::credentials(USER, &token);
        self.clients.admit(shown, hosts);
        Ok(format!("http://{USER}:{token}@{}:{}", Ipv4Addr::LOCALHOST, self.port))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join(); // a panic was reported by the thread itself
        }
    }
}

#[cfg(test)]
mod tests;
