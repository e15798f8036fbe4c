//! Listeners at an address of this machine: processes of the tree, or programs outside of it.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::PathBuf,
};

use nix::unistd::Pid;
use parking_lot::Mutex;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{self, SocketAddrNetlink},
    recv, sendto, socket_with,
};

use crate::proc::{holders, tree};

/// The state of a listening socket in the kernel's tables.
const LISTENING: u8 = 10;
/// The state of a datagram socket that is not connected.
const UNCONNECTED: u8 = 7;

/// The programs that listen at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listener {
    Nobody,
    /// Only processes of the tree.
    Inside,
    /// Others, or others as well.
    Outside,
}

/// How a socket of this machine is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SocketName {
    /// The file that it was bound to.
    File(SocketFile),
    /// Its name without a file.
    Abstract(Vec<u8>),
}

/// A file, as the kernel's list of sockets shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SocketFile {
    pub(super) inode: u32,
    pub(super) device: u32,
}

impl SocketFile {
    pub(super) fn from_metadata(metadata: &fs::Metadata) -> SocketFile {
        let device = metadata.dev();
        SocketFile {
            // The list has the lower half of a larger number.
            inode: (metadata.ino() & u64::from(u32::MAX)) as u32,
            device: rustix::fs::major(device) << 20 | rustix::fs::minor(device),
        }
    }
}

/// Listening sockets that were found in the tree. A listener cannot leave it: sockets over which it could be passed are
/// refused.
pub(super) type KnownListeners = Mutex<HashSet<u64>>;

/// Returns who receives TCP connections to `address`. `tree` is the pid above the tree.
pub(super) fn tcp_listener(address: SocketAddr, tree: Pid, known: &KnownListeners) -> Listener {
    match asked_listener(address) {
        Some(socket) => place(&HashSet::from([socket]), tree, known),
        // The kernel knows no listener, or has no such lookup.
        None => listed_listeners(address, tree, known),
    }
}

/// Returns who listens for TCP connections to `address`, by the list of all sockets: there may be several.
pub(super) fn listed_listeners(address: SocketAddr, tree: Pid, known: &KnownListeners) -> Listener {
    let mut sockets = listening_inodes(address);
    if sockets.is_empty() {
        // A socket that is bound to every address receives what no other socket does. One of IPv6 may receive both.
        let everywhere = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()];
        let everywhere = everywhere.map(|ip| listening_inodes(SocketAddr::new(ip, address.port())));
        sockets = everywhere.into_iter().flatten().collect();
    }
    place(&sockets, tree, known)
}

/// Returns who receives what is sent to the socket with this name.
pub(super) fn local_listener(name: &SocketName, tree: Pid, known: &KnownListeners) -> Listener {
    let bound = bound_sockets().unwrap_or_default();
    let sockets = bound.iter().filter(|socket| socket.name == *name);
    place(&sockets.map(|socket| u64::from(socket.inode)).collect(), tree, known)
}

/// Returns the path to which the socket of `file` was bound, as written then: the file may have been moved since. `None`
/// as well if the kernel cannot tell.
pub(super) fn bound_path(file: SocketFile) -> Option<PathBuf> {
    let bound = bound_sockets()?;
    let socket = bound.iter().find(|socket| socket.name == SocketName::File(file))?;
    socket.path.clone()
}

/// The state of a listening socket in the tables.
const LISTENING_IN_TABLE: &str = "0A";

/// Returns the sockets that listen for TCP connections at exactly this address, IPv4 or IPv6.
fn listening_inodes(address: SocketAddr) -> HashSet<u64> {
    let addresses = holders::written(address);
    let tables = holders::TABLES
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok());
    let is_meant = |row: &holders::TableRow<'_>| {
        row.state == LISTENING_IN_TABLE && addresses.iter().any(|address| address == row.local)
    };
    let inodes = |table: String| -> Vec<u64> {
        let rows = table.lines().filter_map(holders::TableRow::read);
        rows.filter(is_meant).map(|row| row.inode).collect()
    };
    tables.flat_map(inodes).collect()
}

/// Returns where the holders of sockets with these inodes are.
fn place(sockets: &HashSet<u64>, tree: Pid, known: &KnownListeners) -> Listener {
    if sockets.is_empty() {
        return Listener::Nobody;
    }
    let known = || known.lock();
    let mut outside: HashSet<u64> = sockets.difference(&known()).copied().collect();
    if outside.is_empty() {
        return Listener::Inside;
    }
    // A child of ralph has ralph's own sockets as well until it executes another program.
    if holders::sockets_of(tree).iter().any(|socket| outside.contains(socket)) {
        return Listener::Outside;
    }
    for process in tree::descendants(tree) {
        if outside.is_empty() {
            break;
        }
        for socket in holders::sockets_of(process.pid) {
            outside.remove(&socket);
        }
    }
    known().extend(sockets.difference(&outside));
    match outside.is_empty() {
        true => Listener::Inside,
        false => Listener::Outside,
    }
}

/// A socket that other processes can connect or send to by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BoundSocket {
    inode: u32,
    name: SocketName,
    /// The path to which it was bound.
    path: Option<PathBuf>,
}

const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_VFS: u16 = 1;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The length of `struct nlmsghdr`.
const HEAD: usize = 16;

/// Sends a request about sockets to the kernel.
fn request(flags: u16, body: &[u32]) -> Option<OwnedFd> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    );
    let socket = socket.ok()?;
    // struct nlmsghdr: length, type, flags, sequence, port.
    let length = u32::try_from(HEAD + 4 * body.len()).ok()?;
    let kind = pair(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | flags);
    let head = [length.to_ne_bytes(), kind, [0; 4], [0; 4]];
    let body = body.iter().map(|number| number.to_ne_bytes());
    let request: Vec<u8> = head.into_iter().chain(body).flatten().collect();
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).ok()?;
    Some(socket)
}

/// Asks the kernel for the socket that receives TCP connections to `address`. Returns `None` as well if the kernel cannot
/// tell.
fn asked_listener(address: SocketAddr) -> Option<u64> {
    let words = |octets: &[u8]| -> [u32; 4] {
        let mut words = [0; 4];
        for (word, octets) in words.iter_mut().zip(octets.chunks_exact(4)) {
            *word = u32::from_ne_bytes(octets.try_into().expect("four of them"));
        }
        words
    };
    let (family, source) = match address.ip() {
        IpAddr::V4(ip) => (AddressFamily::INET, words(&ip.octets())),
        IpAddr::V6(ip) => (AddressFamily::INET6, words(&ip.octets())),
    };
    let family = u8::try_from(family.as_raw()).ok()?;
    let [high, low] = address.port().to_be_bytes();
    // struct inet_diag_req_v2: family, protocol, extensions, padding; states; ports, source, destination, interface,
    // cookie.
    let mut body = vec![u32::from_ne_bytes([family, TCP, 0, 0]), 1 << LISTENING];
    body.push(u32::from_ne_bytes([high, low, 0, 0]));
    body.extend(source);
    body.extend([0; 4]);
    body.extend([0, u32::MAX, u32::MAX]);
    let socket = request(0, &body)?;
    let mut buffer = vec![0; 4 << 10];
    let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::empty()).ok()?;
    let answer = buffer.get(..length)?;
    if u16_at(answer, 4)? != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    // struct inet_diag_msg: family, state, timer, retransmits; 48 bytes as above; expires, queues, user, inode.
    let message = answer.get(HEAD..)?;
    (message.get(1) == Some(&LISTENING)).then(|| u32_at(message, 68).map(u64::from))?
}

const TCP: u8 = 6;

/// Asks the kernel for all bound sockets between programs of this machine: `/proc/net/unix` has the paths with which
/// sockets were bound, and files may have been moved since. `None` if the kernel cannot tell.
fn bound_sockets() -> Option<Vec<BoundSocket>> {
    let states = 1_u32 << LISTENING | 1 << UNCONNECTED;
    let show = 1_u32 << UNIX_DIAG_NAME | 1 << UNIX_DIAG_VFS;
    let family = u8::try_from(AddressFamily::UNIX.as_raw()).ok()?;
    // struct unix_diag_req: family, protocol, padding, states, inode, show, cookie.
    let body = [u32::from_ne_bytes([family, 0, 0, 0]), states, 0, show, 0, 0];
    let socket = request(NLM_F_DUMP, &body)?;
    let mut found = Vec::new();
    while read_part(&socket, &mut found)? {}
    Some(found)
}

fn pair(first: u16, second: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (first.to_ne_bytes(), second.to_ne_bytes());
    [a, b, c, d]
}

/// Reads one datagram of the list. Returns whether there are more; `None` after an error.
fn read_part(socket: &OwnedFd, found: &mut Vec<BoundSocket>) -> Option<bool> {
    let mut buffer = vec![0; 64 << 10];
    let (length, _) = recv(socket, &mut buffer[..], RecvFlags::empty()).ok()?;
    let mut rest = buffer.get(..length)?;
    while rest.len() >= HEAD {
        let (length, kind) = (u32_at(rest, 0)? as usize, u16_at(rest, 4)?);
        match kind {
            NLMSG_DONE => return Some(false),
            NLMSG_ERROR => return None,
            _ => found.extend(rest.get(HEAD..length).and_then(bound_socket)),
        }
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
    Some(true)
}

/// Reads `struct unix_diag_msg` (family, type, state, padding, inode, cookie) and the attributes behind it.
fn bound_socket(message: &[u8]) -> Option<BoundSocket> {
    let state = *message.get(2)?;
    let inode = u32_at(message, 4)?;
    if state != LISTENING && state != UNCONNECTED {
        return None;
    }
    let (mut file, mut name) = (None, None);
    let mut rest = message.get(16..)?;
    while rest.len() >= 4 {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let value = rest.get(4..length)?;
        match kind {
            UNIX_DIAG_VFS => {
                file = Some(SocketFile {
                    inode: u32_at(value, 0)?,
                    device: u32_at(value, 4)?,
                });
            }
            UNIX_DIAG_NAME => name = Some(value),
            _ => {}
        }
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
    let path = name
        .filter(|name| file.is_some() && !name.starts_with(&[0]))
        .map(|name| {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            PathBuf::from(OsStr::from_bytes(&name[..end]))
        });
    let name = match (file, name) {
        (Some(file), _) => SocketName::File(file),
        (None, Some([0, name @ ..])) => SocketName::Abstract(name.to_owned()),
        (None, _) => return None,
    };
    Some(BoundSocket { inode, name, path })
}

fn aligned(length: usize) -> usize {
    // A length of 0 would be read for ever.
    length.max(4).next_multiple_of(4)
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(start..start + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(start..start + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        os::{
            linux::net::SocketAddrExt,
            unix::net::{SocketAddr as LocalAddress, UnixDatagram, UnixListener},
        },
        process::{Child, Command, Stdio},
    };

    use nix::unistd::getpid;

    use super::*;

    #[test]
    fn a_socket_is_found_by_its_file_or_its_name_also_after_the_file_was_moved() {
        let place = tempfile::tempdir().unwrap();
        let (listening, datagrams) = (place.path().join("listening"), place.path().join("datagrams"));
        let _listener = UnixListener::bind(&listening).unwrap();
        let _receiver = UnixDatagram::bind(&datagrams).unwrap();
        let name = place.path().display().to_string();
        let _named = UnixListener::bind_addr(&LocalAddress::from_abstract_name(&name).unwrap()).unwrap();
        let moved = place.path().join("moved");
        std::fs::rename(&listening, &moved).unwrap();
        let Some(bound) = bound_sockets() else {
            return; // a kernel without this list
        };
        let names: Vec<&SocketName> = bound.iter().map(|socket| &socket.name).collect();
        for file in [&moved, &datagrams] {
            let file = SocketFile::from_metadata(&file.metadata().unwrap());
            assert!(names.contains(&&SocketName::File(file)), "{file:?}");
        }
        let found = SocketFile::from_metadata(&moved.metadata().unwrap());
        assert_eq!(bound_path(found), Some(listening));
        assert!(names.contains(&&SocketName::Abstract(name.into_bytes())));
    }

    #[test]
    fn a_damaged_list_is_read_without_a_panic() {
        let whole = [
            vec![1, 1, LISTENING, 0],
            7_u32.to_ne_bytes().to_vec(),
            vec![0; 8],
            pair(12, UNIX_DIAG_VFS).to_vec(),
            5_u32.to_ne_bytes().to_vec(),
            6_u32.to_ne_bytes().to_vec(),
        ]
        .concat();
        let file = SocketFile { inode: 5, device: 6 };
        let name = SocketName::File(file);
        assert_eq!(
            bound_socket(&whole),
            Some(BoundSocket {
                inode: 7,
                name,
                path: None
            })
        );
        for length in 0..whole.len() {
            assert_eq!(bound_socket(&whole[..length]), None, "{length}");
        }
    }

    /// Starts a program that waits and has a listener as its standard input. It has the only one.
    fn waiting(listener: TcpListener) -> Child {
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::from(OwnedFd::from(listener)));
        command.spawn().unwrap()
    }

    #[test]
    fn a_listener_is_inside_if_a_process_below_has_it_and_ralph_has_not() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let reached = SocketAddr::from(([127, 0, 0, 1], port));
            let ways = [tcp_listener, listed_listeners];
            let found = |tree| ways.map(|find| find(reached, tree, &KnownListeners::default()));
            assert_eq!(found(getpid()), [Listener::Outside; 2], "{address}: of this process");
            let mut child = waiting(listener);
            // A child that another test starts also has it, until the child executes another program.
            let is_inside = (0..1_000).any(|_| found(getpid()) == [Listener::Inside; 2]);
            assert!(is_inside, "{address}");
            assert_eq!(found(Pid::from_raw(child.id().cast_signed())), [Listener::Outside; 2]);
            child.kill().unwrap();
            child.wait().unwrap();
            let is_free = (0..1_000).any(|_| found(getpid()) == [Listener::Nobody; 2]);
            assert!(is_free, "{address}");
        }
    }

    #[test]
    fn a_known_listener_is_not_looked_for_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let known = KnownListeners::default();
        let socket = asked_listener(address).expect("this kernel lists sockets");
        known.lock().insert(socket);
        assert_eq!(tcp_listener(address, getpid(), &known), Listener::Inside);
    }

    #[test]
    fn a_file_has_the_device_number_of_the_kernel() {
        let metadata = std::fs::metadata("/").unwrap();
        let file = SocketFile::from_metadata(&metadata);
        let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        assert_eq!((file.device >> 20, file.device & 0xf_ffff), (major, minor));
    }
}
