//! Connections to the proxy: each is one tunnel or one request.

use std::{
    io,
    net::{self, IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    clients::{ProxyClient, RefusedConnection},
    head::{self, ProxyRequest, ProxyRequestKind},
};
use crate::sandbox::hosts::address;

/// Most connections at once. Further ones wait until one of these ends.
const MOST_CONNECTIONS: usize = 256;
const MOST_HEAD_BYTES: usize = 32 << 10;
/// How long a head, a name, and a connection to one address may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pause after a connection that could not be accepted because descriptors ran out.
const BREATH: Duration = Duration::from_millis(100);

/// An error response to a client.
struct ErrorResponse {
    status: &'static str,
    field: &'static str,
    text: String,
}

impl ErrorResponse {
    fn new(status: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            field: "",
            text: text.into(),
        }
    }
}

/// Serves `client` until the future is dropped.
pub(super) async fn serve(listener: net::TcpListener, client: ProxyClient) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let client = Arc::new(client);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            _ = serve_one(stream, &client).await; // fails if the program has gone
            drop(place);
        });
    }
}

async fn serve_one(mut stream: TcpStream, client: &ProxyClient) -> io::Result<()> {
    let read = timeout(PATIENCE, read_head(&mut stream)).await;
    let (head, rest) = match read {
        Ok(read) => read?,
        Err(_) => return Ok(()),
    };
    let (request, mut server) = match answered(&head, client).await {
        Ok(answered) => answered,
        Err(problem) => return refuse(&mut stream, &problem).await,
    };
    match &request.kind {
        ProxyRequestKind::Tunnel => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        ProxyRequestKind::Forward(head) => server.write_all(head.as_bytes()).await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

/// Reads the head and the bytes that came behind it.
async fn read_head(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        let seen = read.len();
        if client.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from = seen.saturating_sub(3);
        if let Some(end) = read[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(from + end + 4);
            return Ok((read, rest));
        }
        if read.len() > MOST_HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Parses a head and connects to the host in it.
async fn answered(head: &[u8], client: &ProxyClient) -> Result<(ProxyRequest, TcpStream), ErrorResponse> {
    let request = head::read(head).ok_or_else(|| ErrorResponse::new("400 Bad Request", "not a proxy request"))?;
    if request.credentials.as_deref() != Some(client.credentials.as_str()) {
        return Err(ErrorResponse {
            status: "407 Proxy Authentication Required",
            field: "Proxy-Authenticate: Basic realm=\"ralph\"\r\n",
            text: "this proxy is for one program of one run".to_owned(),
        });
    }
    let server = connected(&request, client).await?;
    Ok((request, server))
}

async fn connected(request: &ProxyRequest, client: &ProxyClient) -> Result<TcpStream, ErrorResponse> {
    let ProxyClient { hosts, refusals, .. } = client;
    let ProxyRequest { host, port, .. } = request;
    let refused = |address: Option<IpAddr>| {
        refusals.announce(RefusedConnection {
            host: host.clone(),
            port: *port,
            address,
        });
        let why = address.map_or_else(
            || "it is not listed".to_owned(),
            |address| format!("it leads to {address}, which is not public"),
        );
        let text = format!("connection to {host}:{port} refused by the sandbox: {why} in `sandbox.hosts`");
        ErrorResponse::new("403 Forbidden", text)
    };
    if !hosts.list(host, *port) {
        return Err(refused(None));
    }
    let unreachable = |why: &str| ErrorResponse::new("502 Bad Gateway", format!("{host}:{port}: {why}"));
    let addresses = match address(host) {
        Some(address) => vec![address],
        None => match timeout(PATIENCE, lookup_host((host.as_str(), *port))).await {
            Ok(Ok(found)) => found.map(|found| found.ip()).collect(),
            Ok(Err(error)) => return Err(unreachable(&error.to_string())),
            Err(_) => return Err(unreachable("its name is not resolved in time")),
        },
    };
    let mut last = unreachable("it has no address");
    for address in addresses {
        if !hosts.reach(address, *port) {
            last = refused(Some(address));
            continue;
        }
        match timeout(PATIENCE, TcpStream::connect(SocketAddr::new(address, *port))).await {
            Ok(Ok(server)) => return Ok(server),
            Ok(Err(error)) => last = unreachable(&error.to_string()),
            Err(_) => last = unreachable("it does not answer in time"),
        }
    }
    Err(last)
}

async fn refuse(client: &mut TcpStream, problem: &ErrorResponse) -> io::Result<()> {
    let ErrorResponse { status, field, text } = problem;
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\n{field}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}
