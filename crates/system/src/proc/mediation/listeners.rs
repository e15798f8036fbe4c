//! Who listens at an address of this machine: a process of the tree, or a program outside of it.

use std::{
    collections::HashSet,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
};

use nix::unistd::Pid;
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

/// Returns who listens for TCP connections to `address`. `tree` is the pid above the tree.
pub(super) fn tcp_listener(address: SocketAddr, tree: Pid) -> Listener {
    let mut sockets = holders::listening_inodes(address);
    if sockets.is_empty() {
        // A socket that is bound to every address receives what no other socket does. One of IPv6 may receive both.
        let everywhere = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()];
        let everywhere = everywhere.map(|ip| holders::listening_inodes(SocketAddr::new(ip, address.port())));
        sockets = everywhere.into_iter().flatten().collect();
    }
    place(&sockets, tree)
}

/// Returns who receives what is sent to the socket with this name.
pub(super) fn local_listener(name: &SocketName, tree: Pid) -> Listener {
    let bound = bound_sockets().unwrap_or_default();
    let sockets = bound.iter().filter(|socket| socket.name == *name);
    place(&sockets.map(|socket| u64::from(socket.inode)).collect(), tree)
}

/// Returns where the holders of sockets with these inodes are.
fn place(sockets: &HashSet<u64>, tree: Pid) -> Listener {
    if sockets.is_empty() {
        return Listener::Nobody;
    }
    let mut outside = sockets.clone();
    for process in tree::descendants(tree) {
        for socket in holders::sockets_of(process.pid) {
            outside.remove(&socket);
        }
        if outside.is_empty() {
            return Listener::Inside;
        }
    }
    Listener::Outside
}

/// A socket that other processes can connect or send to by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BoundSocket {
    inode: u32,
    name: SocketName,
}

const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_VFS: u16 = 1;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Asks the kernel for all bound sockets between programs of this machine: `/proc/net/unix` has the paths with which
/// sockets were bound, and files may have been moved since. `None` if the kernel cannot tell.
fn bound_sockets() -> Option<Vec<BoundSocket>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG)).ok()?;
    let states = 1_u32 << LISTENING | 1 << UNCONNECTED;
    let show = 1_u32 << UNIX_DIAG_NAME | 1 << UNIX_DIAG_VFS;
    let family = u8::try_from(AddressFamily::UNIX.as_raw()).ok()?;
    // struct unix_diag_req: family, protocol, padding, states, inode, show, cookie.
    let body = [u32::from_ne_bytes([family, 0, 0, 0]), states, 0, show, 0, 0];
    // struct nlmsghdr: length, type, flags, sequence, port.
    let length: u32 = 16 + 4 * 6;
    let head = [
        length.to_ne_bytes(),
        pair(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP),
        [0; 4],
        [0; 4],
    ];
    let request: Vec<u8> = head.into_iter().chain(body.map(u32::to_ne_bytes)).flatten().collect();
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).ok()?;
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
    while rest.len() >= 16 {
        let (length, kind) = (u32_at(rest, 0)? as usize, u16_at(rest, 4)?);
        match kind {
            NLMSG_DONE => return Some(false),
            NLMSG_ERROR => return None,
            _ => found.extend(rest.get(16..length).and_then(bound_socket)),
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
    let name = match (file, name) {
        (Some(file), _) => SocketName::File(file),
        (None, Some([0, name @ ..])) => SocketName::Abstract(name.to_owned()),
        (None, _) => return None,
    };
    Some(BoundSocket { inode, name })
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
        for file in [moved, datagrams] {
            let file = SocketFile::from_metadata(&file.metadata().unwrap());
            assert!(names.contains(&&SocketName::File(file)), "{file:?}");
        }
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
        assert_eq!(bound_socket(&whole), Some(BoundSocket { inode: 7, name }));
        for length in 0..whole.len() {
            assert_eq!(bound_socket(&whole[..length]), None, "{length}");
        }
    }

    /// Starts a program that waits, with a listener as its standard input.
    fn waiting(listener: &TcpListener) -> Child {
        let inherited = std::os::fd::OwnedFd::from(listener.try_clone().unwrap());
        Command::new("sleep")
            .arg("60")
            .stdin(Stdio::from(inherited))
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_listener_is_inside_if_a_process_below_has_it() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let reached = SocketAddr::from(([127, 0, 0, 1], port));
            let mut child = waiting(&listener);
            let below = Pid::from_raw(child.id().cast_signed());
            assert_eq!(tcp_listener(reached, getpid()), Listener::Inside, "{address}");
            assert_eq!(tcp_listener(reached, below), Listener::Outside, "{address}");
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(tcp_listener(reached, getpid()), Listener::Outside, "{address}");
            drop(listener);
            // A child that another test starts also holds it, until the child executes another program.
            let is_free = (0..1_000).any(|_| tcp_listener(reached, getpid()) == Listener::Nobody);
            assert!(is_free, "{address}");
        }
    }

    #[test]
    fn a_file_has_the_device_number_of_the_kernel() {
        let metadata = std::fs::metadata("/").unwrap();
        let file = SocketFile::from_metadata(&metadata);
        let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        assert_eq!((file.device >> 20, file.device & 0xf_ffff), (major, minor));
    }
}
