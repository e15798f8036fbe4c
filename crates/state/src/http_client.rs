//! HTTP clients, with TLS if this build has it (feature `tls`), and the events that servers send.
//!
//! A client with TLS reads the system's certificates when it is made, and fails if the system has no
//! certificates. Clients for sockets and plain addresses are therefore made without TLS.

mod events;

use reqwest::{Client, ClientBuilder};

pub use events::{EventReader, EventTooLarge, SentEvent, events};

/// Whether this build can reach addresses with https.
pub const HAS_TLS: bool = cfg!(feature = "tls");

/// Begins a client for a socket, or for addresses with http.
pub(crate) fn plain() -> ClientBuilder {
    #[cfg(feature = "tls")]
    return with_provider().tls_certs_only([]);
    #[cfg(not(feature = "tls"))]
    Client::builder()
}

/// Begins a client that uses TLS if `encrypted` and if this build has it, with the certificates that the system trusts.
pub fn encrypted_if(encrypted: bool) -> ClientBuilder {
    match encrypted {
        #[cfg(feature = "tls")]
        true => with_provider(),
        #[cfg(not(feature = "tls"))]
        true => Client::builder(),
        false => plain(),
    }
}

#[cfg(feature = "tls")]
fn with_provider() -> ClientBuilder {
    // Fails if this is not the first client, because a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_client_needs_no_certificates_of_the_system() {
        assert!(plain().build().is_ok() && encrypted_if(false).build().is_ok());
    }
}
