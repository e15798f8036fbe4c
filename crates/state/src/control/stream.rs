//! The connection of a screen in another process to its loop: the frames of `/stream` as they arrive, and requests in
//! order.
//!
//! Frames are read from a connection of their own, in HTTP/1.0: its body ends with the connection and is not chunked,
//! which saves a copy of the output.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::Value;
use thiserror::Error;

use super::{
    ControlError,
    frames::{Frame, FrameDecoder, Hello},
};

/// Most bytes read at once.
const READ_BYTES: usize = 256 * 1024;
/// Longest silence of a stream: a loop sends a keep-alive more often than this.
const SILENCE: Duration = Duration::from_secs(30);
/// Most bytes of the head of an answer, which is far shorter.
const HEAD_CAP_BYTES: u64 = 16 * 1024;
/// Most bytes of the answer to an order, which is far shorter.
const ANSWER_CAP_BYTES: usize = 1 << 20;
/// How long a connection is reused after an answer: less than the server waits for the next request.
const FRESH: Duration = Duration::from_secs(4);
/// How long an order may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The address of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The run's socket on this machine.
    Socket(PathBuf),
    /// An address over the network, or through a tunnel.
    Http {
        /// Name and port.
        host: String,
        /// The path before each route.
        prefix: String,
        token: String,
    },
}

/// Why a URL is not the address of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadAddress {
    #[error("`{url}` is not the address of a run: it begins with http:// and a host")]
    NotHttp { url: String },
    #[error("`{url}`: a run is reached by http; a tunnel (ssh -L 8080:127.0.0.1:8080) keeps what is sent private")]
    Https { url: String },
}

impl Address {
    /// Parses `http://HOST:PORT`, optionally with a path.
    ///
    /// # Errors
    /// [`BadAddress`] if it is something else.
    pub fn from_url(url: &str, token: &str) -> Result<Self, BadAddress> {
        let shown = || url.chars().take(200).collect();
        if url.starts_with("https://") {
            return Err(BadAddress::Https { url: shown() });
        }
        // The fragment is for the page in a browser.
        let rest = url.split('#').next().unwrap_or_default().strip_prefix("http://");
        let (host, path) = rest.map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"?@\\\"<>".contains(&byte))
        };
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(BadAddress::NotHttp { url: shown() });
        }
        let is_numbered = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let path = path.trim_matches('/');
        Ok(Address::Http {
            host: if is_numbered {
                host.to_owned()
            } else {
                format!("{host}:80")
            },
            prefix: if path.is_empty() {
                String::new()
            } else {
                format!("/{path}")
            },
            token: token.trim().to_owned(),
        })
    }

    fn connect(&self) -> Result<Connection, ControlError> {
        let connected = match self {
            Address::Socket(path) => UnixStream::connect(path).map(Connection::Socket),
            Address::Http { host, .. } => TcpStream::connect(host.as_str()).map(Connection::Tcp),
        };
        connected.map_err(|error| match (self, error.kind()) {
            (Address::Socket(_), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                ControlError::NotRunning
            }
            _ => self.no_answer(error),
        })
    }

    fn no_answer(&self, source: io::Error) -> ControlError {
        let path = match self {
            Address::Socket(path) => path.clone(),
            Address::Http { host, prefix, .. } => PathBuf::from(format!("http://{host}{prefix}")),
        };
        ControlError::NoAnswer { path, source }
    }

    /// Returns the request line and the headers that all requests have.
    fn head(&self, method: &str, route: &str, version: &str) -> String {
        match self {
            Address::Socket(_) => format!("{method} {route} {version}\r\nHost: localhost\r\n"),
            Address::Http { host, prefix, token } => {
                // A token is one word; a line break in it could add a header.
                let token: String = token.chars().filter(char::is_ascii_graphic).collect();
                format!("{method} {prefix}{route} {version}\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n")
            }
        }
    }
}

#[derive(Debug)]
enum Connection {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Connection {
    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        let patience = Some(patience);
        match self {
            Connection::Socket(stream) => stream
                .set_read_timeout(patience)
                .and_then(|()| stream.set_write_timeout(patience)),
            Connection::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(patience)?;
                stream.set_write_timeout(patience)
            }
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Connection::Socket(stream) => Connection::Socket(stream.try_clone()?),
            Connection::Tcp(stream) => Connection::Tcp(stream.try_clone()?),
        })
    }

    fn shut_down(&self) {
        // Fails if the connection has ended.
        _ = match self {
            Connection::Socket(stream) => stream.shutdown(Shutdown::Both),
            Connection::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Socket(stream) => stream.read(bytes),
            Connection::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Socket(stream) => stream.write(bytes),
            Connection::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The kind of reader that a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPurpose {
    /// A screen: the loop stays while it is connected, and the agent waits for it.
    Screen,
    /// Text output: the agent waits for it, too, but the loop does not stay after the end.
    Text,
    /// A reader that waits for the end: it only needs records.
    Records,
}

/// The frames of a run.
#[derive(Debug)]
pub struct FrameReader {
    body: BufReader<Connection>,
    decoder: FrameDecoder,
}

impl FrameReader {
    /// Requests the events of the loop at `address` from now on, or from the record `from`.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] if no loop listens, the others if the answer is not a stream.
    pub fn open(address: &Address, purpose: StreamPurpose, from: Option<u64>) -> Result<Self, ControlError> {
        let mut query = match purpose {
            StreamPurpose::Screen => "screen=true&hold=true".to_owned(),
            StreamPurpose::Text => "hold=true".to_owned(),
            StreamPurpose::Records => "records=true".to_owned(),
        };
        if let Some(from) = from {
            query += &format!("&from={from}");
        }
        let mut body = get(address, &format!("/stream?{query}"))?;
        body.get_ref()
            .set_patience(SILENCE)
            .map_err(|error| address.no_answer(error))?;
        let head = read_head(&mut body).map_err(|error| address.no_answer(error))?;
        if head.status != 200 {
            return Err(address.no_answer(refused(&head, &mut body)));
        }
        Ok(Self {
            body,
            decoder: FrameDecoder::default(),
        })
    }

    /// Waits for the first frame, which identifies the run; `None` if another frame or an error comes.
    pub fn hello(&mut self) -> Option<Box<Hello>> {
        match self.next_frame() {
            Ok(Some(Frame::Hello(hello))) => Some(hello),
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits for the next frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// If the connection is lost, or the bytes are not a frame.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => return Ok(Some(frame)),
                Ok(None) => {}
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
            let bytes = match self.body.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(None);
            }
            self.decoder.push(bytes);
            let count = bytes.len();
            self.body.consume(count);
        }
    }

    /// Returns a handle that can end the connection from another thread.
    ///
    /// # Errors
    /// The system's error.
    pub fn closer(&self) -> io::Result<Closer> {
        Ok(Closer(self.body.get_ref().try_clone()?))
    }
}

/// Ends a stream when dropped, even while another thread reads it.
#[derive(Debug)]
pub struct Closer(Connection);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}

/// Sends a request in HTTP/1.0.
fn get(address: &Address, route: &str) -> Result<BufReader<Connection>, ControlError> {
    let mut connection = address.connect()?;
    let head = format!("{}\r\n", address.head("GET", route, "HTTP/1.0"));
    let sent = connection
        .set_patience(PATIENCE)
        .and_then(|()| connection.write_all(head.as_bytes()));
    sent.map_err(|error| address.no_answer(error))?;
    Ok(BufReader::with_capacity(READ_BYTES, connection))
}

/// Fetches the body of the answer of a route, up to `cap_bytes`.
///
/// # Errors
/// As [`FrameReader::open`].
pub fn fetch(address: &Address, route: &str, cap_bytes: u64) -> Result<Vec<u8>, ControlError> {
    let mut body = get(address, route)?;
    let mut read = || {
        let head = read_head(&mut body)?;
        if head.status != 200 {
            return Err(refused(&head, &mut body));
        }
        let mut bytes = Vec::new();
        (&mut body).take(cap_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| address.no_answer(error))
}

/// Returns the reason that the answer to a failed request gives, as an error.
fn refused(head: &ResponseHead, body: &mut impl Read) -> io::Error {
    let mut said = Vec::new();
    // If no reason can be read, the status has to do.
    _ = body.take(ANSWER_CAP_BYTES as u64).read_to_end(&mut said);
    io::Error::other(match problem_in(&said) {
        Some(detail) => detail,
        None => format!("it answered with {}", head.status),
    })
}

/// Returns the reason of a problem (RFC 9457), if the body of an answer is one.
pub fn problem_in(body: &[u8]) -> Option<String> {
    let problem: Value = serde_json::from_slice(body).ok()?;
    let detail = problem.get("detail").or_else(|| problem.get("title"))?;
    detail.as_str().map(ToOwned::to_owned)
}

/// The head of an answer.
struct ResponseHead {
    status: u16,
    /// Length of the body, 0 if the head does not say it.
    length: usize,
    /// Whether the connection ends with the answer.
    closes: bool,
}

fn read_head(body: &mut impl BufRead) -> io::Result<ResponseHead> {
    let mut lines = body.take(HEAD_CAP_BYTES);
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let mut head = ResponseHead {
        status: status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no answer in HTTP"))?,
        length: 0,
        closes: false,
    };
    loop {
        line.clear();
        lines.read_line(&mut line)?;
        match line.trim_end().to_ascii_lowercase().split_once(':') {
            Some(("content-length", length)) => {
                head.length = length.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
            }
            Some(("connection", how)) => head.closes = how.trim() == "close",
            Some(_) => {}
            None if line == "\r\n" => return Ok(head),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Sends requests to a loop one after the other, over one connection for as long as it lasts.
#[derive(Debug)]
pub struct Poster {
    address: Address,
    /// A recently used connection, and when it was used.
    connection: Option<(BufReader<Connection>, Instant)>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Poster {
    pub fn new(address: Address) -> Self {
        Self {
            address,
            connection: None,
        }
    }

    /// Posts `body` and waits for the answer.
    ///
    /// # Errors
    /// If no answer comes.
    pub fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> io::Result<HttpResponse> {
        // An old connection is not reused, since the server closes idle ones. A request is never repeated: it may have
        // been carried out even though no answer has come.
        if let Some((connection, used)) = self.connection.take()
            && used.elapsed() < FRESH
        {
            return self.post_over(connection, path, content_type, body);
        }
        let connection = self.address.connect().map_err(io::Error::other)?;
        connection.set_patience(PATIENCE)?;
        let connection = BufReader::new(connection);
        self.post_over(connection, path, content_type, body)
    }

    fn post_over(
        &mut self,
        mut connection: BufReader<Connection>,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> io::Result<HttpResponse> {
        let length = body.len();
        let head = self.address.head("POST", path, "HTTP/1.1");
        let head = format!("{head}Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
        let request = [head.as_bytes(), body].concat();
        connection.get_mut().write_all(&request)?;
        let head = read_head(&mut connection)?;
        let mut body = vec![0; head.length.min(ANSWER_CAP_BYTES)];
        connection.read_exact(&mut body)?;
        if !head.closes && head.length <= ANSWER_CAP_BYTES {
            self.connection = Some((connection, Instant::now()));
        }
        Ok(HttpResponse {
            status: head.status,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_what_is_before_the_routes() {
        let http = |host: &str, prefix: &str| Address::Http {
            host: host.to_owned(),
            prefix: prefix.to_owned(),
            token: "t".to_owned(),
        };
        for (url, expected) in [
            ("http://127.0.0.1:8080", http("127.0.0.1:8080", "")),
            ("http://127.0.0.1:8080/#token=x", http("127.0.0.1:8080", "")),
            ("http://box/runs/one/", http("box:80", "/runs/one")),
            ("http://[::1]:99", http("[::1]:99", "")),
        ] {
            assert_eq!(Address::from_url(url, " t\n"), Ok(expected), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:8080",
            "http://",
            "ftp://x",
            "http://a b",
            "http://x@y",
            "http://x\r\nA: b",
        ] {
            assert!(
                matches!(Address::from_url(url, ""), Err(BadAddress::NotHttp { .. })),
                "{url}"
            );
        }
        assert!(matches!(
            Address::from_url("https://x", ""),
            Err(BadAddress::Https { .. })
        ));
    }
}
