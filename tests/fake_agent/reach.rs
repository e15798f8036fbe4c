//! Ways out of a sandbox over sockets, tried as a program that wants to escape would.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::{
        fd::{AsFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream},
    },
    process::Command,
};

use rustix::{
    net::{
        AddressFamily, Protocol, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto, listen,
        sendto, socket, socketpair,
    },
    process::{DumpableBehavior, set_dumpable_behavior},
};

use crate::Outcome;

/// Connects by sending the first data, which the kernel does not check as a connect.
const FAST_OPEN: SendFlags = SendFlags::from_bits_retain(0x2000_0000);

/// Sets up an io_uring, whose operations replace system calls. Rust needs `unsafe` for that, so perl does it.
const IO_URING: &str = r#"my $p = "\0" x 120; exit(syscall(425, 8, $p) < 0 ? 1 : 0)"#;

/// Tries one way; `to` is an address, a path or a name, depending on the way.
pub fn reach(way: &str, to: &str) -> Outcome<()> {
    let done = match way {
        "tcp" => TcpStream::connect(to).map(drop),
        "fast-open" => fast_open(to),
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", to).map(drop)),
        "raw" => made(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)),
        "mptcp" => made(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)),
        "netlink" => made(AddressFamily::NETLINK, SocketType::RAW, None),
        "vsock" => made(AddressFamily::VSOCK, SocketType::STREAM, None),
        "own-server" => TcpListener::bind(to).and_then(|listener| own_server(&listener)),
        "own-server-unbound" => socket(AddressFamily::INET, SocketType::STREAM, None)
            .and_then(|socket| listen(&socket, 1).map(|()| socket))
            .map_err(io::Error::from)
            .and_then(|socket| own_server(&socket.into())),
        "own-socket" => UnixListener::bind(to).and_then(|_listener| UnixStream::connect(to).map(drop)),
        "path" => UnixStream::connect(to).map(drop),
        "abstract" => UnixAddr::from_abstract_name(to).and_then(|to| UnixStream::connect_addr(&to).map(drop)),
        "pair" => socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)
            .map(drop)
            .map_err(io::Error::from),
        "datagram-pair" => datagram_pair(to),
        "io-uring" => Command::new("perl").args(["-e", IO_URING]).status().and_then(|status| {
            status
                .success()
                .then_some(())
                .ok_or_else(|| io::Error::other("perl was refused"))
        }),
        "http" => return get(to),
        "post" => return post(to, None),
        "post-from-own-address" => return own_address().and_then(|from| post(to, Some(from))),
        "post-hidden" => {
            set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| error.to_string())?;
            return post(to, None);
        }
        "handed-on" => return hand_on(to),
        "as-handed-on" => return speak_as_handed_on(to),
        _ => return Err("no such way".to_owned()),
    };
    done.map_err(|error| error.to_string())
}

fn made(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> io::Result<()> {
    Ok(socket(family, kind, protocol).map(drop)?)
}

/// Connects to a server of this process, as tests do.
fn own_server(listener: &TcpListener) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop)
}

fn fast_open(to: &str) -> io::Result<()> {
    let to: SocketAddr = to.parse().map_err(io::Error::other)?;
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sendto(&socket, b"x", FAST_OPEN, &to)?;
    Ok(())
}

/// Reconnects one end of a socket pair to another socket.
fn datagram_pair(to: &str) -> io::Result<()> {
    let (one, _other) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::empty(), None)?;
    Ok(connect(&one, &SocketAddrUnix::new(to)?)?)
}

/// Gets a page through the proxy that the environment names.
fn get(url: &str) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let client = reqwest::Client::builder();
    #[cfg(feature = "tls")]
    let client = {
        let _ = rustls::crypto::ring::default_provider().install_default(); // the first client of this process
        client.tls_certs_only([])
    };
    let client = client.build().map_err(|error| text(&error))?;
    let answer = runtime
        .map_err(|error| text(&error))?
        .block_on(client.get(url).send())
        .and_then(reqwest::Response::error_for_status);
    answer.map(drop).map_err(|error| text(&error))
}

/// The address of this machine that packets to other machines would carry.
fn own_address() -> Outcome<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?; // nothing is sent
        socket.local_addr()
    });
    socket.map(|address| address.ip()).map_err(|error| error.to_string())
}

/// Connects to the socket at `TOKEN/PATH`, then ends and leaves the connection to a child.
fn hand_on(to: &str) -> Outcome<()> {
    let (token, path) = to.split_once('/').ok_or("TOKEN/PATH")?;
    let handed_on = || -> io::Result<()> {
        let stream = UnixStream::connect(format!("/{path}"))?;
        let mut child = Command::new(std::env::current_exe()?);
        let child = child.arg(format!("reach as-handed-on {token}"));
        child.stdin(OwnedFd::from(stream)).spawn().map(drop)
    };
    handed_on().map_err(|error| error.to_string())
}

/// Logs in over the connection on stdin, and prints the answer.
fn speak_as_handed_on(token: &str) -> Outcome<()> {
    let spoken = || -> io::Result<String> {
        let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let head = format!(
            "POST /login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-length: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = spoken().map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{answer}").map_err(|error| error.to_string())?;
    Ok(())
}

/// Sends a message to the run at `PORT/TOKEN`, optionally from another local address; fails unless it is accepted.
fn post(to: &str, from: Option<IpAddr>) -> Outcome<()> {
    let (port, token) = to.split_once('/').ok_or("PORT/TOKEN")?;
    let port: u16 = port.parse().map_err(|_| "PORT/TOKEN")?;
    let body = r#"{"text":"obey"}"#;
    let head = format!(
        "POST /prompt HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchanged = || -> io::Result<String> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        if let Some(from) = from {
            bind(&socket, &SocketAddr::new(from, 0))?;
        }
        connect(&socket, &SocketAddr::from(([127, 0, 0, 1], port)))?;
        let mut stream = TcpStream::from(socket);
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = exchanged().map_err(|error| error.to_string())?;
    match answer.starts_with("HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(answer),
    }
}
