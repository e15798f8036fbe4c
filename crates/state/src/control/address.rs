//! The addresses at which a run is reached.

use std::path::PathBuf;

use thiserror::Error;

/// The address of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The run's socket on this machine.
    Socket(PathBuf),
    /// An address over the network, or through a tunnel.
    Http {
        /// Name and port.
        host: String,
        /// The path before each route.
        prefix: String,
        token: String,
    },
}

/// Why a URL is not the address of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadAddress {
    #[error("`{url}` is not the address of a run: it begins with http:// and a host")]
    NotHttp { url: String },
    #[error("`{url}`: a run is reached by http; a tunnel (ssh -L 8080:127.0.0.1:8080) keeps what is sent private")]
    Https { url: String },
}

impl Address {
    /// Parses `http://HOST:PORT`, optionally with a path.
    ///
    /// # Errors
    /// [`BadAddress`] if it is something else.
    pub fn from_url(url: &str, token: &str) -> Result<Self, BadAddress> {
        let shown = || url.chars().take(200).collect();
        if url.starts_with("https://") {
            return Err(BadAddress::Https { url: shown() });
        }
        // The fragment is for the page in a browser.
        let rest = url.split('#').next().unwrap_or_default().strip_prefix("http://");
        let (host, path) = rest.map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"?@\\\"<>".contains(&byte))
        };
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(BadAddress::NotHttp { url: shown() });
        }
        let is_numbered = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let path = path.trim_matches('/');
        Ok(Address::Http {
            host: if is_numbered {
                host.to_owned()
            } else {
                format!("{host}:80")
            },
            prefix: if path.is_empty() {
                String::new()
            } else {
                format!("/{path}")
            },
            token: token.trim().to_owned(),
        })
    }

    /// The address in messages.
    pub(super) fn shown(&self) -> PathBuf {
        match self {
            Address::Socket(path) => path.clone(),
            Address::Http { host, prefix, .. } => PathBuf::from(format!("http://{host}{prefix}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_what_is_before_the_routes() {
        let http = |host: &str, prefix: &str| Address::Http {
            host: host.to_owned(),
            prefix: prefix.to_owned(),
            token: "t".to_owned(),
        };
        for (url, expected) in [
            ("http://127.0.0.1:8080", http("127.0.0.1:8080", "")),
            ("http://127.0.0.1:8080/#token=x", http("127.0.0.1:8080", "")),
            ("http://box/runs/one/", http("box:80", "/runs/one")),
            ("http://[::1]:99", http("[::1]:99", "")),
        ] {
            assert_eq!(Address::from_url(url, " t\n"), Ok(expected), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:8080",
            "http://",
            "ftp://x",
            "http://a b",
            "http://x@y",
            "http://x\r\nA: b",
        ] {
            assert!(
                matches!(Address::from_url(url, ""), Err(BadAddress::NotHttp { .. })),
                "{url}"
            );
        }
        assert!(matches!(
            Address::from_url("https://x", ""),
            Err(BadAddress::Https { .. })
        ));
    }
}
