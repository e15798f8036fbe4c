//! The hosts that a program may connect to, as settings and adapters list them: `example.org`, `*.example.org`,
//! `10.0.0.7:8080`.
//!
//! A listed name alone is not enough: its owner can make it resolve to this machine or to an address in the user's own
//! network. So an address that is not public has to be on the list itself.

use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Ports of a host that is listed without one.
const USUAL_PORTS: [u16; 2] = [443, 80];
const MOST_BYTES: usize = 253;

/// A host on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exact(String),
    /// All subdomains of a name, without the name itself.
    Below(String),
    Address(IpAddr),
}

impl AllowedHost {
    /// Parses a host of a list; `None` if it is not one.
    pub fn read(text: &str) -> Option<AllowedHost> {
        let (name, port) = authority(text)?;
        let name = match (name.strip_prefix("*."), address(name)) {
            (_, Some(address)) => HostPattern::Address(address),
            (Some(below), None) if is_name(below) => HostPattern::Below(normal(below)),
            (None, None) if is_name(name) => HostPattern::Exact(normal(name)),
            (_, None) => return None,
        };
        Some(AllowedHost { name, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port
            .map_or_else(|| USUAL_PORTS.contains(&port), |listed| listed == port)
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            HostPattern::Exact(name) => write!(formatter, "{name}"),
            HostPattern::Below(name) => write!(formatter, "*.{name}"),
            HostPattern::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
            HostPattern::Address(IpAddr::V4(address)) => write!(formatter, "{address}"),
        }?;
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// The hosts that a program may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedHosts(Vec<AllowedHost>);

impl FromIterator<AllowedHost> for AllowedHosts {
    fn from_iter<I: IntoIterator<Item = AllowedHost>>(hosts: I) -> Self {
        AllowedHosts(hosts.into_iter().collect())
    }
}

impl AllowedHosts {
    pub fn iter(&self) -> impl Iterator<Item = &AllowedHost> {
        self.0.iter()
    }

    /// The listed addresses with their ports, without names.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let listed = self.0.iter().filter_map(|host| match host.name {
            HostPattern::Address(address) => Some((address, host.port)),
            HostPattern::Exact(_) | HostPattern::Below(_) => None,
        });
        listed
            .flat_map(|(address, port)| {
                let ports = port.map_or_else(|| USUAL_PORTS.to_vec(), |port| vec![port]);
                ports.into_iter().map(move |port| SocketAddr::new(address, port))
            })
            .collect()
    }

    /// Whether `host`, a name or an address, is listed for `port`.
    pub fn list(&self, host: &str, port: u16) -> bool {
        if let Some(address) = address(host) {
            return self.list_address(address, port);
        }
        let host = normal(host);
        self.0.iter().any(|listed| {
            listed.has_port(port)
                && match &listed.name {
                    HostPattern::Exact(name) => *name == host,
                    HostPattern::Below(name) => host
                        .strip_suffix(name.as_str())
                        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
                    HostPattern::Address(_) => false,
                }
        })
    }

    /// Whether a listed name may resolve to `address`: to a public one, or to one that is listed itself.
    pub fn reach(&self, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.list_address(address, port)
    }

    fn list_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        self.0
            .iter()
            .any(|listed| listed.has_port(port) && listed.name == HostPattern::Address(address))
    }
}

/// Splits `text` into a host and an optional port; `None` if that is not possible.
pub fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            match rest.strip_prefix(':') {
                Some(port) => (address, Some(port)),
                None if rest.is_empty() => (address, None),
                None => return None,
            }
        }
        None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port {
        None => Some((host, None)),
        Some(port) if is_number(port) => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
        Some(_) => None,
    }
}

/// Whether `text` can be the name of a host, or an IPv4 address.
pub fn is_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    text.len() <= MOST_BYTES && text.split('.').all(is_label)
}

/// Parses an address; `None` if `text` is a name.
pub fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether `address` is on the public internet: not of this machine, of a local network, or unassigned.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // In the order of the IANA special-purpose address registry: this network, private, shared, loopback, link-local
    // (with the metadata service of cloud machines), protocol assignments, documentation, 6to4 relays, benchmarks,
    // multicast, reserved, broadcast.
    let special = a == 0
        || address.is_private()
        || a == 100 && b & 0xc0 == 64
        || address.is_loopback()
        || address.is_link_local()
        || [a, b, c] == [192, 0, 0]
        || address.is_documentation()
        || [a, b, c] == [192, 88, 99]
        || a == 198 && b & 0xfe == 18
        || a >= 224;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let [[i, j], [k, l]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_public_v4(Ipv4Addr::new(i, j, k, l))
    };
    match a {
        // An embedded IPv4 address, of NAT64 or 6to4.
        0x64 if [b, c, d, e, f] == [0xff9b, 0, 0, 0, 0] => embedded(g, h),
        0x2002 => embedded(b, c),
        // Protocol assignments, Teredo tunnels among them, and documentation.
        0x2001 => b >= 0x200 && b != 0xdb8,
        0x3fff => b >= 0x1000,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> AllowedHosts {
        texts
            .iter()
            .map(|text| AllowedHost::read(text).unwrap_or_else(|| panic!("{text} is a host")))
            .collect()
    }

    #[test]
    fn a_name_is_listed_alone_and_a_star_for_all_below_it() {
        let hosts = hosts(&[
            "Example.org",
            "*.example.net",
            "example.com:8443",
            "10.0.0.7:8080",
            "[::1]:9",
        ]);
        for (host, port, listed) in [
            ("example.org", 443, true),
            ("EXAMPLE.ORG.", 80, true),
            ("example.org", 8443, false),
            ("www.example.org", 443, false),
            ("notexample.org", 443, false),
            ("example.org.evil.test", 443, false),
            ("a.example.net", 443, true),
            ("a.b.example.net", 443, true),
            ("example.net", 443, false),
            (".example.net", 443, false),
            ("notexample.net", 443, false),
            ("example.com", 8443, true),
            ("example.com", 443, false),
            ("10.0.0.7", 8080, true),
            ("::ffff:10.0.0.7", 8080, true),
            ("10.0.0.7", 80, false),
            ("10.0.0.8", 8080, false),
            ("::1", 9, true),
            ("0:0:0:0:0:0:0:1", 9, true),
        ] {
            assert_eq!(hosts.list(host, port), listed, "{host}:{port}");
        }
    }

    #[test]
    fn an_address_without_a_port_has_the_usual_ones() {
        let addresses = hosts(&["example.org", "10.0.0.7", "[::1]:9"]).addresses();
        let expected = ["10.0.0.7:443", "10.0.0.7:80", "[::1]:9"].map(|address| address.parse().unwrap());
        assert_eq!(addresses, expected);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "**.org",
            "a.*.org",
            "https://example.org",
            "example.org/path",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+1",
            "a b",
            "ex\u{e4}mple.org",
            "[::1",
            "[::1]9",
            "a..b",
            ".org",
            "user@example.org",
        ] {
            assert_eq!(AllowedHost::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_is_shown_as_it_can_be_written() {
        for text in [
            "example.org",
            "*.example.org",
            "example.org:8443",
            "10.0.0.7:80",
            "[::1]:9",
        ] {
            assert_eq!(hosts(&[text]).iter().next().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_name_leads_to_public_addresses_and_to_others_only_where_they_are_listed() {
        let hosts = hosts(&["intra.example", "10.1.2.3"]);
        for (address, reached) in [
            ("93.184.215.14", true),
            ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", true),
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.1.2.4", false),
            ("127.0.0.1", false),
            ("0.0.0.0", false),
            ("169.254.169.254", false),
            ("100.100.100.200", false),
            ("172.31.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("64:ff9b::5db8:d70e", true),
            ("2002:7f00:1::", false),
            ("2001:db8::1", false),
            ("2001::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(hosts.reach(address.parse().unwrap(), 443), reached, "{address}");
        }
    }
}
