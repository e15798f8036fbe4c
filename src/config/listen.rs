//! Syntax of the addresses at which a run can be reached over TCP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ralph_policy::{
    grammars, samples,
    settings::{Grammar, Mistake, NameList, Node, Sample, SingleLine, accept},
};
use serde_json::Value;

grammars! {
    /// An address of this machine, with a port.
    pub ListenAddress: SocketAddr,
        r#"an address of this machine with a port, such as "127.0.0.1:4180" ("127.0.0.1:0" takes a free port)"#,
        SingleLine::schema(), |node| node.text().and_then(address);
}

/// Parses an address of this machine with a port.
///
/// # Errors
/// The expected syntax.
#[cfg(feature = "page")]
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    address(text).ok_or_else(|| format!("expected {}", ListenAddress::expected()))
}

/// Parses a host name of a proxy.
///
/// # Errors
/// The expected syntax.
#[cfg(feature = "page")]
pub(crate) fn proxy_host(text: &str) -> Result<String, String> {
    match is_host(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a host, such as ralph.example.org or phone.example.org:8443".to_owned()),
    }
}

/// Parses an address. Names are refused, since what they resolve to can change; only `localhost` means the same
/// everywhere.
fn address(text: &str) -> Option<SocketAddr> {
    let loopback = |port: &str| Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?));
    match text.strip_prefix("localhost:") {
        Some(port) => loopback(port),
        None => text.parse().ok().or_else(|| loopback(text)),
    }
}

samples! {
    /// Host names of proxies, each with or without a port.
    ProxyHosts: r#"["ralph.example.org", "phone.example.org:8443"]"#;
}

impl Grammar for ProxyHosts {
    type Value = Vec<String>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let names = NameList::<ProxyHosts>::read(node, key).ok();
        accept::<Self>(node, key, names.filter(|names| names.iter().all(|name| is_host(name))))
    }

    fn expected() -> String {
        format!("a list of different hosts, such as {}", Self::SAMPLE)
    }

    fn schema() -> Value {
        NameList::<ProxyHosts>::schema()
    }

    fn from_variable(word: &str) -> Value {
        NameList::<ProxyHosts>::from_variable(word)
    }
}

/// Whether the text can be the `Host` of a request: no scheme, no path, no pattern.
fn is_host(text: &str) -> bool {
    let name = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => match port.parse::<u16>() {
            Ok(_) => name,
            Err(_) => return false,
        },
        Some(_) | None => text,
    };
    if let Some(address) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_with_its_port() {
        for (text, read) in [
            ("127.0.0.1:4180", Some("127.0.0.1:4180")),
            ("localhost:4180", Some("127.0.0.1:4180")),
            ("4180", Some("127.0.0.1:4180")),
            ("[::1]:0", Some("[::1]:0")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("127.0.0.1", None),
            ("127.0.0.1:70000", None),
            ("example.org:80", None),
            ("localhost", None),
            ("", None),
            ("::1:0:", None),
        ] {
            let read = read.map(|read| read.parse().unwrap());
            assert_eq!(address(text), read, "{text}");
        }
    }

    #[test]
    fn a_proxys_host_is_a_name_and_neither_an_address_nor_a_pattern() {
        for host in ["ralph.example.org", "localhost", "10.0.0.7:8443", "[::1]", "[::1]:80"] {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "",
            "*",
            "*.example.org",
            "https://x",
            "x/y",
            "x:y",
            "x:70000",
            "[x]",
            "x y",
            ":80",
        ] {
            assert!(!is_host(host), "{host}");
        }
    }
}
