//! The address of a server that the user names: a host and a port, spoken to in plain HTTP.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use thiserror::Error;

/// `http://host:port`, and nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerUrl {
    /// A name, an IPv4 address, or an IPv6 address in brackets; lower case.
    host: String,
    port: u16,
}

/// What keeps a text from being the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServerUrlError {
    #[error("only http:// is spoken; reach a server elsewhere through a tunnel, such as `ssh -L`")]
    Scheme,
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
            host: "127.0.0.1".to_owned(),
            port,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it can only be reached from this machine.
    pub fn is_local(&self) -> bool {
        self.host == "localhost" || self.host.starts_with("127.") || self.host == "[::1]"
    }
}

/// As it is written in a URL, without a slash at the end.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl FromStr for ServerUrl {
    type Err = ServerUrlError;

    /// Takes `http://host`, `http://host:port` and `host:port`. The port is 80 where a URL names none.
    fn from_str(text: &str) -> Result<Self, ServerUrlError> {
        let text = text.trim();
        let (has_scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (true, rest),
            Some(_) => return Err(ServerUrlError::Scheme),
            None => (false, text),
        };
        // What browsers take for the end of a host, so that none of it is read as another one.
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
        let port = match port {
            Some(digits) => port_of(digits)?,
            None if has_scheme => 80,
            None => return Err(ServerUrlError::Port(String::new())),
        };
        Ok(Self {
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
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    host.len() <= 253 && host.split('.').all(label)
}

fn port_of(digits: &str) -> Result<u16, ServerUrlError> {
    let wrong = || ServerUrlError::Port(digits.to_owned());
    // `u16::from_str` takes a plus sign.
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
    fn anything_else_is_refused_with_its_reason() {
        let host = |host: &str| ServerUrlError::Host(host.to_owned());
        let port = |port: &str| ServerUrlError::Port(port.to_owned());
        for (text, error) in [
            ("https://127.0.0.1:4190", ServerUrlError::Scheme),
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
