//! Which processes of this machine have the client's end of a TCP connection: the kernel names nobody there, as it does for a
//! socket with a path.

use std::{fs, io, net::IpAddr, net::SocketAddr, path::Path};

use nix::unistd::Pid;

use super::system;

/// The processes that hold the end whose address is `client`, of a connection to `server`. None where it is another machine's, or
/// of processes that this one may not look into.
pub(super) fn holders(client: SocketAddr, server: SocketAddr) -> Vec<Pid> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let inode = tables
        .iter()
        .find_map(|table| inode(&fs::read_to_string(table).ok()?, client, server));
    let Some(inode) = inode else {
        return Vec::new();
    };
    let socket = format!("socket:[{inode}]");
    let all = system::processes().into_iter().map(|process| process.pid);
    all.filter(|pid| holds(*pid, Path::new(&socket)).unwrap_or(false))
        .collect()
}

fn holds(pid: Pid, socket: &Path) -> io::Result<bool> {
    let mut descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?;
    Ok(descriptors.any(|entry| {
        let target = entry.and_then(|entry| fs::read_link(entry.path()));
        target.is_ok_and(|target| target == socket)
    }))
}

/// The inode of the client's end, as the kernel's table of connections has it.
fn inode(table: &str, client: SocketAddr, server: SocketAddr) -> Option<u64> {
    let (client, server) = (written(client), written(server));
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let is_it = client.iter().any(|client| client == local) && server.iter().any(|server| server == remote);
        // A connection that has ended has none.
        let inode = fields.nth(6)?.parse().ok()?;
        (is_it && inode != 0).then_some(inode)
    })
}

/// An address as the tables have it: in words of the machine's own order, and one of four bytes in either table.
fn written(address: SocketAddr) -> Vec<String> {
    let words = |octets: &[u8]| -> String {
        let words = octets.chunks_exact(4);
        let words = words.map(|word| format!("{:08X}", u32::from_ne_bytes(word.try_into().expect("four of them"))));
        words.collect()
    };
    let port = address.port();
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => vec![
            format!("{}:{port:04X}", words(&ip.octets())),
            format!("{}:{port:04X}", words(&ip.to_ipv6_mapped().octets())),
        ],
        IpAddr::V6(ip) => vec![format!("{}:{port:04X}", words(&ip.octets()))],
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use nix::unistd::getpid;

    use super::*;

    #[test]
    fn whoever_has_a_connection_is_found_in_either_family() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue; // a machine without IPv6
            };
            let server = listener.local_addr().unwrap();
            let client = TcpStream::connect(server).unwrap();
            let (_accepted, from) = listener.accept().unwrap();
            assert_eq!(holders(from, server), [getpid()]);
            drop(client);
            assert_eq!(holders(from, server), []);
        }
        // Of a listener for both, and of nobody.
        let [one, other] = ["[::ffff:127.0.0.1]:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        assert_eq!(holders(one, other), []);
    }
}
