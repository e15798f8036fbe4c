//! The address of a server named by the user: host and port, reached over HTTP, or with TLS for https.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use ralph_state::http_client::HAS_TLS;
use ralph_system::sandbox::hosts::is_name;
use thiserror::Error;

/// `http://host:port` or `https://host:port`, without anything else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerUrl {
    encrypted: bool,
    /// A name, an IPv4 address, or an IPv6 address in brackets; lower case.
    host: String,
    port: u16,
}

/// The reason why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerUrlError {
    #[error("only http:// and https:// are supported")]
    Scheme,
    #[error("this ralph was built without TLS; reach the server through a tunnel, such as `ssh -L`")]
    TlsMissing,
    #[error("user and password belong into OPENCODE_SERVER_USERNAME and OPENCODE_SERVER_PASSWORD")]
    Credentials,
    #[error("an address has no path, query or fragment")]
    Path,
    #[error("{}", not_a("host", .0))]
    Host(String),
    #[error("{}", not_a("port", .0))]
    Port(String),
}

fn not_a(part: &str, text: &str) -> String {
    match text {
        "" => format!("missing {part}"),
        text => format!("`{text}` is not a {part}"),
    }
}

impl ServerUrl {
    /// A server on this machine.
    pub fn local(port: u16) -> Self {
        Self {
            encrypted: false,
            host: "127.0.0.1".to_owned(),
            port,
        }
    }

    /// Whether the server is reached over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Whether the server is on this machine.
    pub fn is_local(&self) -> bool {
        self.host == "localhost" || self.host.starts_with("127.") || self.host == "[::1]"
    }
}

/// Formats the address as a URL, without a slash at the end.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl FromStr for ServerUrl {
    type Err = ServerUrlError;

    /// Parses `http://host`, `http://host:port`, the same with https if this build has TLS, and `host:port`. The
    /// default port is 80, or 443 with https; without a scheme a port is required.
    fn from_str(text: &str) -> Result<Self, ServerUrlError> {
        let text = text.trim();
        let (usual, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Some(80), rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Some(443), rest),
            Some(_) => return Err(ServerUrlError::Scheme),
            None => (None, text),
        };
        // The characters that end a host in browsers, so that no part of it is read as another host.
        let (authority, path) = match rest.find(['/', '?', '#', '\\']) {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(ServerUrlError::Credentials);
        }
        if !matches!(path, "" | "/") {
            return Err(ServerUrlError::Path);
        }
        let (host, port) = split(authority)?;
        if !is_host(host) {
            return Err(ServerUrlError::Host(host.to_owned()));
        }
        let port = match (port, usual) {
            (Some(digits), _) => port_of(digits)?,
            (None, Some(usual)) => usual,
            (None, None) => return Err(ServerUrlError::Port(String::new())),
        };
        // Last, so that a build without TLS refuses a wrong address for the same reason as one with it.
        if usual == Some(443) && !HAS_TLS {
            return Err(ServerUrlError::TlsMissing);
        }
        Ok(Self {
            encrypted: usual == Some(443),
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

fn split(authority: &str) -> Result<(&str, Option<&str>), ServerUrlError> {
    let Some(rest) = authority.strip_prefix('[') else {
        return Ok(match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        });
    };
    let end = rest
        .find(']')
        .ok_or_else(|| ServerUrlError::Host(authority.to_owned()))?;
    let host = &authority[..end + 2];
    match &authority[end + 2..] {
        "" => Ok((host, None)),
        after => match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None => Err(ServerUrlError::Host(authority.to_owned())),
        },
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    is_name(host) && !host.ends_with('.')
}

fn port_of(digits: &str) -> Result<u16, ServerUrlError> {
    let wrong = || ServerUrlError::Port(digits.to_owned());
    // `u16::from_str` accepts a plus sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    digits.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, ServerUrlError> {
        text.parse::<ServerUrl>().map(|url| url.to_string())
    }

    #[test]
    fn host_and_port_are_all_that_is_taken() {
        for (text, url) in [
            ("http://127.0.0.1:4190", "http://127.0.0.1:4190"),
            ("http://127.0.0.1:4190/", "http://127.0.0.1:4190"),
            (" HTTP://LocalHost:1 ", "http://localhost:1"),
            ("localhost:4190", "http://localhost:4190"),
            ("http://build-7.example", "http://build-7.example:80"),
            ("http://[::1]:4190", "http://[::1]:4190"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(url), "{text}");
        }
    }

    #[test]
    #[cfg(feature = "tls")]
    fn a_server_with_tls_is_taken_with_its_own_port() {
        assert_eq!(
            read("https://build-7.example").as_deref(),
            Ok("https://build-7.example:443")
        );
        assert_eq!(read("HTTPS://127.0.0.1:80/").as_deref(), Ok("https://127.0.0.1:80"));
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn a_server_with_tls_is_refused_by_a_build_without() {
        assert_eq!(read("https://127.0.0.1:4190"), Err(ServerUrlError::TlsMissing));
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        let host = |host: &str| ServerUrlError::Host(host.to_owned());
        let port = |port: &str| ServerUrlError::Port(port.to_owned());
        for (text, error) in [
            ("https://me:secret@127.0.0.1:4190", ServerUrlError::Credentials),
            ("https://127.0.0.1:4190/api", ServerUrlError::Path),
            ("file:///etc/passwd", ServerUrlError::Scheme),
            ("http://me:secret@127.0.0.1:4190", ServerUrlError::Credentials),
            ("http://127.0.0.1:4190@evil.example/", ServerUrlError::Credentials),
            ("http://127.0.0.1:4190/api", ServerUrlError::Path),
            ("http://127.0.0.1:4190\\@evil.example", ServerUrlError::Path),
            ("http://127.0.0.1:4190?x", ServerUrlError::Path),
            ("http://127.0.0.1:4190#x", ServerUrlError::Path),
            ("http://127.0.0.1:4190/../x", ServerUrlError::Path),
            ("http://", host("")),
            ("http://:4190", host("")),
            ("http://a b:1", host("a b")),
            ("http://a..b:1", host("a..b")),
            ("http://[::1", host("[::1")),
            ("http://[x]:1", host("[x]")),
            ("http://h:0", port("0")),
            ("http://h:65536", port("65536")),
            ("http://h:+1", port("+1")),
            ("http://h:1:2", port("1:2")),
            ("localhost", port("")),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
    }

    #[test]
    fn servers_of_this_machine_are_known_as_such() {
        for (text, local) in [
            ("127.0.0.1:1", true),
            ("localhost:1", true),
            ("[::1]:1", true),
            ("host:1", false),
        ] {
            assert_eq!(text.parse::<ServerUrl>().map(|url| url.is_local()), Ok(local), "{text}");
        }
    }
}
