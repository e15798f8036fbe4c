//! The mediator of a confined program: a thread of its guard that answers the system calls that the kernel holds.
//!
//! Landlock knows the port of a connection and not its address, and does not know sockets with a path. So `connect` is
//! held: the mediator looks at the address and connects the socket itself. It uses a copy of the address, and a
//! duplicate of the descriptor, so that neither can be exchanged after it was looked at. For the same reason it lets the
//! kernel go on with a held call only if everything that matters is in the call's numbers.

mod caller;
mod filters;
mod listeners;

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Component, Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
};

use nix::{
    errno::Errno,
    libc,
    unistd::{Pid, getpid},
};
use ralph_seccomp::{CallAnswer, HeldCall, HeldCalls};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags, open, openat, openat2},
    net::{bind, connect, getsockname, listen, sockopt},
};
use tracing::warn;

use super::{Network, OnRefused, RefusedCall, system};
use crate::real_paths::RealPaths;
use caller::Caller;
use filters::X32;
use listeners::{
    KnownListeners, Listener, SocketFile, SocketName, bound_path, listed_listeners, local_listener, tcp_listener,
};

pub(super) use filters::{hold, refuse};

/// Answers the calls of one program and everything that it starts.
struct Mediator {
    calls: HeldCalls,
    network: Network,
    /// Real paths that the program may write to.
    writable: Vec<PathBuf>,
    /// The pid of ralph: its descendants are all programs of the run, which may connect to each other.
    ralph: Pid,
    known: KnownListeners,
    on_refused: OnRefused,
}

/// Starts a mediator, which waits for the calls that it is to answer. `writable` are the paths that the program may write
/// to. The calling thread must have all rights of `ralph`.
///
/// # Errors
/// If no thread can be started.
pub(super) fn start(
    network: &Network,
    writable: &[PathBuf],
    ralph: Pid,
    on_refused: OnRefused,
) -> io::Result<mpsc::Sender<HeldCalls>> {
    let (sender, receiver) = mpsc::channel();
    let network = network.clone();
    let mut real = RealPaths::default();
    let writable = writable.iter().filter_map(|path| real.existing(path)).collect();
    let thread = thread::Builder::new().name("ralph-mediator".to_owned());
    thread.spawn(move || {
        if let Ok(calls) = receiver.recv() {
            let mediator = Mediator {
                calls,
                network,
                writable,
                ralph,
                known: KnownListeners::default(),
                on_refused,
            };
            Arc::new(mediator).answer_all();
        }
    })?;
    Ok(sender)
}

impl Mediator {
    /// Returns once the program and everything that it has started are gone.
    fn answer_all(self: Arc<Self>) {
        loop {
            match self.calls.next() {
                Ok(Some(call)) => self.take(call),
                Ok(None) => return,
                Err(error) => {
                    // The kernel fails all held calls from now on.
                    warn!(%error, "the mediator of a sandbox ends");
                    return;
                }
            }
        }
    }

    fn take(self: &Arc<Self>, call: HeldCall) {
        if !matches!(
            call.number & !X32,
            libc::SYS_connect | libc::SYS_bind | libc::SYS_listen
        ) {
            return self.calls.answer(&call, decide_by_number(&call));
        }
        // A connection may take long, and a thread can become another user.
        let mediator = Arc::clone(self);
        let answering = thread::Builder::new().name("ralph-mediated".to_owned());
        let started = answering.spawn(move || {
            let answer = match mediator.act(&call) {
                Ok(answer) => answer,
                Err(error) => CallAnswer::Fail(error.raw_os_error().map_or(Errno::EACCES, Errno::from_raw)),
            };
            mediator.calls.answer(&call, answer);
        });
        if started.is_err() {
            self.calls.answer(&call, CallAnswer::Fail(Errno::EAGAIN));
        }
    }

    /// Makes a call of a socket in the place of its thread.
    fn act(&self, call: &HeldCall) -> io::Result<CallAnswer> {
        let caller = Caller::new(call)?;
        let socket = caller.descriptor(call.args[0])?;
        let (number, [_, second, third, ..]) = (call.number & !X32, call.args);
        let address = match number {
            libc::SYS_listen => Vec::new(),
            _ => caller.address(second, third & u64::from(u32::MAX))?,
        };
        if !self.calls.is_waiting(call) {
            // The address may be that of another thread.
            return Ok(CallAnswer::Fail(Errno::EINTR));
        }
        caller.adopt_user()?;
        match number {
            libc::SYS_connect => self.connect(&caller, &socket, &address),
            libc::SYS_bind => self.bind(&socket, &address),
            _ => listen_here(&socket, second),
        }
    }

    fn connect(&self, caller: &Caller, socket: &OwnedFd, address: &[u8]) -> io::Result<CallAnswer> {
        match (family(address), self.network.proxy_port) {
            (Some(libc::AF_UNIX), _) => self.connect_local(caller, socket, address),
            (Some(libc::AF_INET | libc::AF_INET6), Some(proxy_port)) => {
                let address = internet_address(address).ok_or(Errno::EINVAL)?;
                self.connect_tcp(socket, address, proxy_port)
            }
            // Ends a connection.
            (Some(libc::AF_UNSPEC), _) | (_, None) => {
                ralph_seccomp::connect(socket.as_fd(), address)?;
                Ok(CallAnswer::Done)
            }
            (_, Some(_)) => Ok(CallAnswer::Fail(Errno::EACCES)),
        }
    }

    fn connect_tcp(&self, socket: &OwnedFd, address: SocketAddr, proxy_port: u16) -> io::Result<CallAnswer> {
        let address = match address.ip() {
            // The kernel takes these for this machine.
            IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
            IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, address.port())),
            _ => address,
        };
        let ip = address.ip().to_canonical();
        let target = SocketAddr::new(ip, address.port());
        let is_listed =
            target == SocketAddr::from((Ipv4Addr::LOCALHOST, proxy_port)) || self.network.addresses.contains(&target);
        let listener = match (is_listed, ip.is_loopback()) {
            (true, _) => Listener::Inside,
            (false, true) => tcp_listener(target, self.ralph, &self.known),
            (false, false) => Listener::Outside,
        };
        connect_inside(
            listener,
            || connect(socket, &address),
            || {
                (self.on_refused.0)(RefusedCall::Connection { address });
                Errno::EACCES
            },
        )
    }

    /// Connects to a socket of this machine that is named by a path, or by a name without a file.
    fn connect_local(&self, caller: &Caller, socket: &OwnedFd, address: &[u8]) -> io::Result<CallAnswer> {
        let name = address.get(2..).unwrap_or_default();
        if let [0, name @ ..] = name {
            let name = SocketName::Abstract(name.to_owned());
            let listener = local_listener(&name, self.ralph, &self.known);
            let connect = || ralph_seccomp::connect(socket.as_fd(), address);
            return connect_inside(listener, connect, || Errno::EPERM);
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let path = Path::new(std::ffi::OsStr::from_bytes(&name[..end]));
        let file = opened(caller, path)?;
        let here = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let found = SocketFile::from_metadata(&fs::metadata(&here)?);
        let real = fs::read_link(&here)?;
        let listener = match self.is_allowed(found, &real) {
            true => Listener::Inside,
            false => local_listener(&SocketName::File(found), self.ralph, &self.known),
        };
        let address = rustix::net::SocketAddrUnix::new(&here)?;
        connect_inside(
            listener,
            || connect(socket, &address),
            || {
                (self.on_refused.0)(RefusedCall::Socket { path: real });
                Errno::EACCES
            },
        )
    }

    /// Whether the settings allow the socket at `real`. To a place that the program writes to, it may have moved another
    /// one: there, the path counts to which the socket was bound.
    fn is_allowed(&self, file: SocketFile, real: &Path) -> bool {
        let is_writable = || self.writable.iter().any(|place| real.starts_with(place));
        let is_listed = |path: &Path| {
            let leads_back = path.components().any(|part| part == Component::ParentDir);
            !leads_back && self.network.sockets.iter().any(|listed| path.starts_with(listed))
        };
        is_listed(real) && (!is_writable() || bound_path(file).is_some_and(|path| is_listed(&path)))
    }

    /// Binds a socket to an address of this machine that no other machine reaches.
    fn bind(&self, socket: &OwnedFd, address: &[u8]) -> io::Result<CallAnswer> {
        if family(address) == Some(libc::AF_UNIX) {
            // Landlock decides about the file. It refuses all of TCP, should the address be exchanged.
            return Ok(CallAnswer::Continue);
        }
        let address = internet_address(address).ok_or(Errno::EACCES)?;
        let ip = address.ip();
        if !ip.to_canonical().is_loopback() && !ip.to_canonical().is_unspecified() {
            (self.on_refused.0)(RefusedCall::Listening { address });
            return Ok(CallAnswer::Fail(Errno::EACCES));
        }
        let address = on_loopback(socket, address)?;
        let target = SocketAddr::new(address.ip().to_canonical(), address.port());
        // Programs of one user can share a port (SO_REUSEPORT): connections would reach either of them.
        if target.port() != 0 && listed_listeners(target, self.ralph, &self.known) == Listener::Outside {
            return Ok(CallAnswer::Fail(Errno::EADDRINUSE));
        }
        bind(socket, &address)?;
        Ok(CallAnswer::Done)
    }
}

/// Connects to a listener of the tree. `refuse` returns the error for one outside of it.
fn connect_inside<E: Into<io::Error>>(
    listener: Listener,
    connect: impl FnOnce() -> Result<(), E>,
    refuse: impl FnOnce() -> Errno,
) -> io::Result<CallAnswer> {
    match listener {
        Listener::Inside => connect().map(|()| CallAnswer::Done).map_err(Into::into),
        Listener::Nobody => Ok(CallAnswer::Fail(Errno::ECONNREFUSED)),
        Listener::Outside => Ok(CallAnswer::Fail(refuse())),
    }
}

/// Decides on a call whose numbers say all about it.
fn decide_by_number(call: &HeldCall) -> CallAnswer {
    let [first, second, ..] = call.args;
    let number = |argument: u64| i32::try_from(argument & u64::from(u32::MAX)).unwrap_or(-1);
    let (process, refused) = match call.number & !X32 {
        libc::SYS_shmat => (memory_maker(number(first)), Errno::EACCES),
        libc::SYS_setpriority | libc::SYS_ioprio_set => (Some(Pid::from_raw(number(second))), Errno::EPERM),
        _ => (Some(Pid::from_raw(number(first))), Errno::EPERM),
    };
    // This process is no part of the program's tree.
    let is_in_tree = |process| process != getpid() && system::descends_from_here(process);
    match process.is_some_and(is_in_tree) {
        true => CallAnswer::Continue,
        false => CallAnswer::Fail(refused),
    }
}

/// Returns the address on which to listen if a program asks for every address.
fn on_loopback(socket: &OwnedFd, address: SocketAddr) -> io::Result<SocketAddr> {
    let ip = match address.ip() {
        ip if !ip.to_canonical().is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) if sockopt::ipv6_v6only(socket)? => Ipv6Addr::LOCALHOST.into(),
        // Most programs connect by IPv4, and a socket has one address.
        IpAddr::V6(_) => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
    };
    Ok(SocketAddr::new(ip, address.port()))
}

/// Lets a socket listen. One that is bound to no address would be bound to every one.
fn listen_here(socket: &OwnedFd, backlog: u64) -> io::Result<CallAnswer> {
    let bound = getsockname(socket)?;
    if let Ok(address) = SocketAddr::try_from(bound) {
        if address.port() == 0 {
            bind(socket, &on_loopback(socket, address)?)?;
        } else if !address.ip().to_canonical().is_loopback() {
            return Ok(CallAnswer::Fail(Errno::EACCES));
        }
    }
    listen(socket, i32::try_from(backlog & u64::from(u32::MAX)).unwrap_or(i32::MAX))?;
    Ok(CallAnswer::Done)
}

/// Opens a path as the caller would find it, without rights to read or write.
fn opened(caller: &Caller, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let above = |name: &str| open(format!("{}/{name}", caller.directory()), flags, Mode::empty());
    Ok(match path.is_absolute() {
        true => openat2(above("root")?, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?,
        false => openat(above("cwd")?, path, flags, Mode::empty())?,
    })
}

/// Returns the process that made a piece of System V memory.
fn memory_maker(id: i32) -> Option<Pid> {
    let table = fs::read_to_string("/proc/sysvipc/shm").ok()?;
    table.lines().skip(1).find_map(|line| {
        // key, id, permissions, size, maker, …
        let mut fields = line.split_ascii_whitespace().skip(1);
        let found: i32 = fields.next()?.parse().ok()?;
        let maker = fields.nth(2)?.parse().ok()?;
        (found == id).then(|| Pid::from_raw(maker))
    })
}

fn family(address: &[u8]) -> Option<i32> {
    Some(u16::from_ne_bytes(address.get(..2)?.try_into().ok()?).into())
}

/// Reads an address of IPv4 or IPv6 as the system writes it.
fn internet_address(address: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    match family(address)? {
        libc::AF_INET if address.len() >= 16 => {
            let ip: [u8; 4] = address.get(4..8)?.try_into().ok()?;
            Some(SocketAddr::from((ip, port)))
        }
        libc::AF_INET6 => {
            let number = |at: usize| Some(u32::from_ne_bytes(address.get(at..at + 4)?.try_into().ok()?));
            let ip: [u8; 16] = address.get(8..24)?.try_into().ok()?;
            let scope = number(24).unwrap_or(0);
            Some(SocketAddrV6::new(ip.into(), port, u32::from_be(number(4)?), scope).into())
        }
        _ => None,
    }
}
