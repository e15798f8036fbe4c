//! The only way out of a strict sandbox: an HTTP proxy on this machine that connects to listed hosts and to no others.
//!
//! Each client has a port of its own, with its own list of hosts: a sandbox lets a program connect to its own port only.
//! It needs a token as well, since every user of the machine can connect to the port. Names are resolved here, and the connection goes to the very address that was checked: a name that
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

use tokio::{runtime, sync::mpsc};

pub use clients::RefusedConnection;

use crate::{files::secret, sandbox::hosts::AllowedHosts};
use clients::{ProxyClient, Refusals};

/// The variables in which programs look for a proxy.
pub const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

const USER: &str = "ralph";

/// The proxy, on a thread of its own that ends when this value is dropped.
#[derive(Debug)]
pub struct Proxy {
    refusals: Arc<Refusals>,
    /// Takes listeners to the thread, and ends it when dropped.
    admitted: Option<mpsc::UnboundedSender<(TcpListener, ProxyClient)>>,
    thread: Option<JoinHandle<()>>,
}

/// How a client reaches the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyAccess {
    /// The port on this machine.
    pub port: u16,
    /// The URL, which contains the client's token.
    pub url: String,
}

impl Proxy {
    /// Starts a proxy that admits no client yet.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(on_refused: impl Fn(RefusedConnection) + Send + Sync + 'static) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (admitted, mut listeners) = mpsc::unbounded_channel();
        let thread = thread::Builder::new().name("ralph-proxy".to_owned()).spawn(move || {
            runtime.block_on(async {
                while let Some((listener, client)) = listeners.recv().await {
                    tokio::spawn(serve::serve(listener, client));
                }
            });
            // Without waiting for names that are being resolved.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            refusals: Arc::new(Refusals::new(Box::new(on_refused))),
            admitted: Some(admitted),
            thread: Some(thread),
        })
    }

    /// Admits a client that may connect to `hosts`, at a new port.
    ///
    /// # Errors
    /// If the system has no random numbers or no port.
    pub fn admit(&self, hosts: AllowedHosts) -> io::Result<ProxyAccess> {
        let token = secret()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let client = ProxyClient {
            credentials: head::credentials(USER, &token),
            hosts,
            refusals: Arc::clone(&self.refusals),
        };
        let thread = self.admitted.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        thread
            .send((listener, client))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(ProxyAccess {
            port,
            url: format!("http://{USER}:{token}@{}:{port}", Ipv4Addr::LOCALHOST),
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.admitted.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join(); // a panic was reported by the thread itself
        }
    }
}

/// Returns the head that the proxy passes on for the head of a request, for a fuzz target; `None` for a head that it refuses
/// or that opens a tunnel.
#[cfg(fuzzing)]
pub fn forwarded_head(head: &[u8]) -> Option<String> {
    match head::read(head)?.kind {
        head::ProxyRequestKind::Forward(forwarded) => Some(forwarded),
        head::ProxyRequestKind::Tunnel => None,
    }
}

#[cfg(test)]
mod tests;
