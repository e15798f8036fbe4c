//! Clients for HTTP, with TLS where this build has it (feature `tls`).
//!
//! A client with TLS reads the certificates of the system when it is made, and fails where the system has none. So clients for sockets
//! and plain addresses are made without TLS.

use reqwest::{Client, ClientBuilder};

/// Whether this build can reach addresses with https.
pub const HAS_TLS: bool = cfg!(feature = "tls");

/// Begins a client for a socket, or for addresses with http.
pub(crate) fn plain() -> ClientBuilder {
    #[cfg(feature = "tls")]
    return with_provider().tls_certs_only([]);
    #[cfg(not(feature = "tls"))]
    Client::builder()
}

/// Begins a client that speaks TLS where that is asked for and this build has it, by the certificates that the system trusts.
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
    // Another one is there already if this is not the first client.
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
