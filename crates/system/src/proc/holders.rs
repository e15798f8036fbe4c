//! Which processes of this machine have the client's end of a TCP connection: the kernel names nobody there, as it does for a
//! socket with a path.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::Path,
};

use nix::unistd::{Pid, Uid, geteuid};

use super::system;

/// How often to read the tables before a connection is not in them: they change while they are read.
const READS: usize = 3;
/// Where the kernel has its connections. A system without IPv6 has one of the two.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Who has the client's end of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A process of another machine, or of a network namespace that this machine routes to.
    Abroad,
    /// No process any more.
    Gone,
    Held(Vec<Pid>),
    /// A process of another user of this machine, by the user that the kernel notes when a socket is opened.
    OfAnotherUser,
    /// A process of this user that hides, or none while the socket is on its way from one process to another.
    Unseen,
}

/// An end as the kernel's table of connections has it.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    uid: Uid,
    /// 0 once every process has let go of it.
    inode: u64,
}

/// Tells who has the end whose address is `client`, of a connection to `server`.
///
/// The kernel's tables are read for every `client`: a process may connect from any address of its machine.
pub(super) fn end_of(client: SocketAddr, server: SocketAddr) -> End {
    if !TABLES.iter().any(|table| Path::new(table).exists()) {
        return End::Abroad; // a system that has none
    }
    let Some(found) = look_up(client, server) else {
        return match is_of_this_machine(client.ip().to_canonical(), server.ip().to_canonical()) {
            true => End::Gone,
            false => End::Abroad,
        };
    };
    if found.inode == 0 {
        return End::Gone;
    }
    if found.uid != geteuid() {
        return End::OfAnotherUser;
    }
    let socket = format!("socket:[{}]", found.inode);
    let holders: Vec<Pid> = system::processes()
        .into_iter()
        .map(|process| process.pid)
        .filter(|pid| holds(*pid, Path::new(&socket)).unwrap_or(false)) // it has ended, or hides
        .collect();
    if !holders.is_empty() {
        return End::Held(holders);
    }
    match look_up(client, server) == Some(found) {
        true => End::Unseen,
        false => End::Gone,
    }
}

/// Whether `ip` is an address of this machine, by whether a socket can be bound to it.
fn is_of_this_machine(ip: IpAddr, server: IpAddr) -> bool {
    ip.is_loopback() || ip == server || UdpSocket::bind((ip, 0)).is_ok()
}

fn look_up(client: SocketAddr, server: SocketAddr) -> Option<Entry> {
    let tables = TABLES.iter().cycle();
    tables
        .take(READS * TABLES.len())
        .find_map(|table| entry(&fs::read_to_string(table).ok()?, client, server))
}

fn holds(pid: Pid, socket: &Path) -> io::Result<bool> {
    let mut descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?;
    Ok(descriptors.any(|entry| {
        let target = entry.and_then(|entry| fs::read_link(entry.path()));
        target.is_ok_and(|target| target == socket)
    }))
}

/// The client's end in the text of a table.
fn entry(table: &str, client: SocketAddr, server: SocketAddr) -> Option<Entry> {
    let (client, server) = (written(client), written(server));
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        if !client.iter().any(|client| client == local) || !server.iter().any(|server| server == remote) {
            return None;
        }
        let uid = fields.nth(4)?.parse().ok().map(Uid::from_raw)?;
        let inode = fields.nth(1)?.parse().ok()?;
        Some(Entry { uid, inode })
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
            // A child that another test starts has it, too, until it becomes another program.
            let is_alone = (0..100).any(|_| end_of(from, server) == End::Held(vec![getpid()]));
            assert!(is_alone, "{:?}", end_of(from, server));
            // What has been sent is still read once nobody has this end any more.
            drop(client);
            assert_eq!(end_of(from, server), End::Gone);
        }
        // Of a listener for both, and of nobody.
        let [one, other] = ["[::ffff:127.0.0.1]:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        assert_eq!(end_of(one, other), End::Gone);
        let [remote, own] = ["192.0.2.1:1", "192.0.2.2:2"].map(|address| address.parse().unwrap());
        assert_eq!(end_of(remote, own), End::Abroad);
        assert_eq!(end_of(remote, remote), End::Gone);
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
        // Another test may start a program, which has all of this process until it is one.
        let mut ends = (0..1_000).map(|_| end_of(from, server));
        let end = ends.find(|end| !matches!(end, End::Held(_)));
        assert_eq!(end, Some(End::Unseen));
    }
}
