//! Finds the processes of this machine that hold the client's end of a TCP connection: for TCP, the kernel does not
//! name the peer, as it does for a socket with a path.

use std::{
    fs,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::Path,
};

use nix::unistd::{Pid, Uid, geteuid};

use super::system;

/// How often to read the tables before concluding that a connection is missing: they change while they are read.
const READS: usize = 3;
/// The kernel's tables of connections. A system without IPv6 has only the first.
pub(super) const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The holder of the client's end of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientHolder {
    /// A process of another machine, or of a network namespace that this machine routes to.
    Abroad,
    /// No process holds it any more.
    Gone,
    Held(Vec<Pid>),
    /// A process of another user of this machine, according to the user that the kernel notes when a socket is opened.
    OfAnotherUser,
    /// A hidden process of this user, or no process while the socket is being passed from one to another.
    Unseen,
}

/// An end of a connection as listed in the kernel's table.
#[derive(Debug, PartialEq, Eq)]
struct SocketEntry {
    uid: Uid,
    /// 0 once no process holds it.
    inode: u64,
}

/// Finds the holders of the end with address `client` of a connection to `server`.
///
/// The kernel's tables are read for every `client`: a process may connect from any address of its machine.
pub(super) fn client_holder(client: SocketAddr, server: SocketAddr) -> ClientHolder {
    if !TABLES.iter().any(|table| Path::new(table).exists()) {
        return ClientHolder::Abroad; // a system without these tables
    }
    let Some(found) = look_up(client, server) else {
        return match is_of_this_machine(client.ip().to_canonical(), server.ip().to_canonical()) {
            true => ClientHolder::Gone,
            false => ClientHolder::Abroad,
        };
    };
    if found.inode == 0 {
        return ClientHolder::Gone;
    }
    if found.uid != geteuid() {
        return ClientHolder::OfAnotherUser;
    }
    let holders: Vec<Pid> = system::processes()
        .into_iter()
        .map(|process| process.pid)
        .filter(|pid| sockets_of(*pid).contains(&found.inode))
        .collect();
    if !holders.is_empty() {
        return ClientHolder::Held(holders);
    }
    match look_up(client, server) == Some(found) {
        true => ClientHolder::Unseen,
        false => ClientHolder::Gone,
    }
}

/// Whether `ip` is an address of this machine: loopback, the server's, or one to which a socket can be bound.
fn is_of_this_machine(ip: IpAddr, server: IpAddr) -> bool {
    ip.is_loopback() || ip == server || UdpSocket::bind((ip, 0)).is_ok()
}

fn look_up(client: SocketAddr, server: SocketAddr) -> Option<SocketEntry> {
    let tables = TABLES.iter().cycle();
    tables
        .take(READS * TABLES.len())
        .find_map(|table| entry(&fs::read_to_string(table).ok()?, client, server))
}

/// Returns the inodes of all sockets that `pid` holds; none if it has ended or is hidden.
pub(super) fn sockets_of(pid: Pid) -> Vec<u64> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| {
            let name = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            name.parse().ok()
        })
        .collect()
}

/// A line of one of the kernel's tables of connections.
pub(super) struct TableRow<'a> {
    /// Addresses as [`written`] formats them.
    pub(super) local: &'a str,
    remote: &'a str,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only the mediator asks, which Linux has")
    )]
    pub(super) state: &'a str,
    uid: Uid,
    pub(super) inode: u64,
}

impl TableRow<'_> {
    /// Reads a line; `None` if it is the heading.
    pub(super) fn read(line: &str) -> Option<TableRow<'_>> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        Some(TableRow {
            local: fields.next()?,
            remote: fields.next()?,
            state: fields.next()?,
            // Behind the queues, the timer and the retransmits.
            uid: Uid::from_raw(fields.nth(3)?.parse().ok()?),
            inode: fields.nth(1)?.parse().ok()?,
        })
    }
}

/// Finds the client's end in the text of a table.
fn entry(table: &str, client: SocketAddr, server: SocketAddr) -> Option<SocketEntry> {
    let (client, server) = (written(client), written(server));
    let rows = table.lines().filter_map(TableRow::read);
    let mut ends = rows.filter(|row| client.iter().any(|client| client == row.local));
    let end = ends.find(|row| server.iter().any(|server| server == row.remote))?;
    Some(SocketEntry {
        uid: end.uid,
        inode: end.inode,
    })
}

/// Formats an address as the tables do: in words of the machine's byte order. An IPv4 address may be in either table.
pub(super) fn written(address: SocketAddr) -> Vec<String> {
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
    use std::{
        io::IoSlice,
        mem::MaybeUninit,
        net::{TcpListener, TcpStream},
        os::{fd::AsFd, unix::net::UnixStream},
    };

    use nix::unistd::getpid;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

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
            // A child that another test starts also holds it, until the child executes another program.
            let is_alone = (0..100).any(|_| client_holder(from, server) == ClientHolder::Held(vec![getpid()]));
            assert!(is_alone, "{:?}", client_holder(from, server));
            // The server can still read what was sent after the last holder has closed this end.
            drop(client);
            assert_eq!(client_holder(from, server), ClientHolder::Gone);
        }
        // One address without and one with a listener of this test; no connection has either.
        let [one, other] = ["[::ffff:127.0.0.1]:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        assert_eq!(client_holder(one, other), ClientHolder::Gone);
        let [remote, own] = ["192.0.2.1:1", "192.0.2.2:2"].map(|address| address.parse().unwrap());
        assert_eq!(client_holder(remote, own), ClientHolder::Abroad);
        assert_eq!(client_holder(remote, remote), ClientHolder::Gone);
    }

    #[test]
    fn a_connection_on_its_way_to_another_process_is_this_users_and_nobody_is_seen_to_have_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let client = TcpStream::connect(server).unwrap();
        let (_accepted, from) = listener.accept().unwrap();
        let (there, _here) = UnixStream::pair().unwrap();
        let passed = [client.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        assert!(message.push(SendAncillaryMessage::ScmRights(&passed)));
        sendmsg(&there, &[IoSlice::new(b"x")], &mut message, SendFlags::empty()).unwrap();
        drop(client);
        // A child that another test starts holds this process's descriptors until it executes another program.
        let mut ends = (0..1_000).map(|_| client_holder(from, server));
        let end = ends.find(|end| !matches!(end, ClientHolder::Held(_)));
        assert_eq!(end, Some(ClientHolder::Unseen));
    }
}
