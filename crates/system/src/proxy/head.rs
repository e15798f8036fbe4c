//! The head of a request to a proxy: `CONNECT host:port`, or a method and a full `http://` URL. Pure.
//!
//! The forwarded head is written from the parsed one, so that no server can read it in another way than the proxy did.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::sandbox::hosts::{address, authority, is_name};

/// A request to a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: String,
    pub(super) port: u16,
    /// The credentials that the client sends to the proxy.
    pub(super) credentials: Option<String>,
    pub(super) kind: ProxyRequestKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProxyRequestKind {
    /// Bytes are passed in both directions.
    Tunnel,
    /// The head of a request for the host itself.
    Forward(String),
}

/// Parses a head with the empty line at its end; `None` if it is invalid.
pub(super) fn read(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version, None) = (words.next()?, words.next()?, words.next()?, words.next()) else {
        return None;
    };
    let fields: Vec<(&str, &str)> = lines.map(field).collect::<Option<_>>()?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token(method) || !is_plain(target) || !["HTTP/1.0", "HTTP/1.1"].contains(&version) {
        return None;
    }
    let credentials = value(&fields, "proxy-authorization").map(str::to_owned);
    if method == "CONNECT" {
        let (host, port) = named(target)?;
        return Some(ProxyRequest {
            host,
            port: port?,
            credentials,
            kind: ProxyRequestKind::Tunnel,
        });
    }
    let rest = strip_scheme(target)?;
    let (at, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = named(at)?;
    Some(ProxyRequest {
        host,
        port: port.unwrap_or(80),
        credentials,
        kind: ProxyRequestKind::Forward(forwarded(method, at, path, version, &fields)),
    })
}

/// Returns the credentials that a client sends for a user and a password.
pub(super) fn credentials(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Returns the head for the host itself, without headers for the connection to the proxy. The connection is closed
/// after one answer, because the next request may be for another host.
fn forwarded(method: &str, host: &str, path: &str, version: &str, fields: &[(&str, &str)]) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = path.split('#').next().unwrap_or_default();
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {host}\r\n");
    let upgrades = value(fields, "upgrade").is_some();
    for (name, value) in fields {
        let lower = name.to_ascii_lowercase();
        let is_of_connection = lower == "connection" && !upgrades || lower == "keep-alive" || lower == "host";
        if !is_of_connection && !lower.starts_with("proxy-") {
            head += &format!("{name}: {value}\r\n");
        }
    }
    if !upgrades {
        head += "Connection: close\r\n";
    }
    head + "\r\n"
}

fn named(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = authority(text)?;
    (address(host).is_some() || is_name(host)).then(|| (host.to_owned(), port))
}

fn strip_scheme(target: &str) -> Option<&str> {
    let scheme = target.get(..7)?;
    scheme.eq_ignore_ascii_case("http://").then(|| &target[7..])
}

/// Parses a header line; `None` for a line that two parsers could read differently.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_text = |byte: u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
    (is_token(name) && value.bytes().all(is_text)).then(|| (name, value.trim_matches([' ', '\t'])))
}

fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

fn value<'a>(fields: &[(&str, &'a str)], wanted: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_names_its_host_and_port() {
        let read =
            read(b"CONNECT example.org:443 HTTP/1.1\r\nHost: other\r\nProxy-Authorization: Basic x\r\n\r\n").unwrap();
        let expected = ProxyRequest {
            host: "example.org".to_owned(),
            port: 443,
            credentials: Some("Basic x".to_owned()),
            kind: ProxyRequestKind::Tunnel,
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_request_is_passed_on_for_the_host_that_it_names_and_without_what_is_for_the_proxy() {
        let head = b"POST http://[::1]:8080/a?b=c#d HTTP/1.1\r\nHost: other\r\nproxy-authorization: Basic x\r\n\
                     Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n";
        let Some(ProxyRequest {
            host, port, kind: what, ..
        }) = read(head)
        else {
            panic!("a request");
        };
        assert_eq!((host.as_str(), port), ("::1", 8080));
        let passed = "POST /a?b=c HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(what, ProxyRequestKind::Forward(passed.to_owned()));
    }

    #[test]
    fn a_request_without_a_path_or_port_is_for_the_root_at_port_80() {
        let request = read(b"GET HTTP://example.org?q HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(request.port, 80);
        let passed = "GET /?q HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";
        assert_eq!(request.kind, ProxyRequestKind::Forward(passed.to_owned()));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for head in [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user@example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org/ HTTP/2\r\n\r\n",
            "GET  http://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org/ a HTTP/1.1\r\n\r\n",
            "GET http://example.org/\n HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:0 HTTP/1.1\r\n\r\n",
            "CONNECT http://example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT a:b@example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\n folded: x\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\nname : x\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\nname: x\ny: z\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\nname\r\n\r\n",
        ] {
            assert_eq!(read(head.as_bytes()), None, "{head:?}");
        }
    }

    #[test]
    fn credentials_are_what_clients_make_of_a_user_and_a_password() {
        for (user, password, shown) in [
            ("a", "b", "Basic YTpi"),
            ("ralph", "0123", "Basic cmFscGg6MDEyMw=="),
            ("ralph", "01234", "Basic cmFscGg6MDEyMzQ="),
        ] {
            assert_eq!(credentials(user, password), shown);
        }
    }
}
