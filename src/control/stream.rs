//! The way of a screen in another process to its loop: the frames of `/stream` as they come, and requests in order.
//!
//! Frames are read from a connection of their own, in HTTP/1.0: its body ends with the connection, without chunks to take
//! apart, and a flood costs one copy less.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    ControlError,
    frames::{Decoder, Frame},
};

/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;
/// A loop says that it is alive more often than this.
const SILENCE: Duration = Duration::from_secs(30);
/// The head of an answer is far shorter.
const HEAD_CAP_BYTES: u64 = 16 * 1024;
/// So is the answer to an order.
const ANSWER_CAP_BYTES: usize = 1 << 20;
/// How long an order may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a stream is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// A screen: the loop stays as long as it is there, and the agent waits for it.
    AsScreen,
    /// Text: the agent waits for it, too, and the loop does not stay after the end.
    AsText,
    /// Somebody who waits for the end: records alone matter.
    Aside,
}

/// The frames of a run.
#[derive(Debug)]
pub struct FrameReader {
    body: BufReader<UnixStream>,
    decoder: Decoder,
}

impl FrameReader {
    /// Asks the loop that listens at `socket` for what happens from now on, or from the record `from`.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] if nobody listens, the others if whoever does is no loop of this kind.
    pub fn open(socket: &Path, looks: Looks, from: Option<u64>) -> Result<Self, ControlError> {
        let no_answer = |source| ControlError::NoAnswer {
            path: socket.to_owned(),
            source,
        };
        let mut stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(ControlError::NotRunning);
            }
            Err(error) => return Err(no_answer(error)),
        };
        stream.set_read_timeout(Some(SILENCE)).map_err(no_answer)?;
        let mut query = match looks {
            Looks::AsScreen => "screen=true&hold=true".to_owned(),
            Looks::AsText => "hold=true".to_owned(),
            Looks::Aside => "records=true".to_owned(),
        };
        if let Some(from) = from {
            query += &format!("&from={from}");
        }
        let head = format!("GET /stream?{query} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).map_err(no_answer)?;
        let mut body = BufReader::with_capacity(READ_BYTES, stream);
        let status = read_head(&mut body).map_err(no_answer)?.status;
        if status != 200 {
            return Err(no_answer(io::Error::other(format!("it answered with {status}"))));
        }
        Ok(Self {
            body,
            decoder: Decoder::default(),
        })
    }

    /// Waits for the next frame; none at the end of the connection.
    ///
    /// # Errors
    /// If the connection is lost, or what comes is no frame.
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

    /// Returns what ends the connection from another thread.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn closer(&self) -> io::Result<Closer> {
        Ok(Closer(self.body.get_ref().try_clone()?))
    }
}

/// Ends a stream, whoever reads it.
#[derive(Debug)]
pub struct Closer(UnixStream);

impl Drop for Closer {
    fn drop(&mut self) {
        _ = self.0.shutdown(std::net::Shutdown::Both); // it may have ended
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// What the head of an answer says.
struct Head {
    status: u16,
    /// Bytes of the body, if it says so.
    length: usize,
    /// The connection ends with the answer.
    closes: bool,
}

fn read_head(body: &mut impl BufRead) -> io::Result<Head> {
    let mut lines = body.take(HEAD_CAP_BYTES);
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let mut head = Head {
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

/// Sends requests to a loop, one after the other, over one connection for as long as it lasts.
#[derive(Debug)]
pub struct Poster {
    socket: PathBuf,
    connection: Option<BufReader<UnixStream>>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Poster {
    pub fn new(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            connection: None,
        }
    }

    /// Posts `body` and waits for the answer.
    ///
    /// # Errors
    /// If nobody answers.
    pub fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> io::Result<Answered> {
        if let Some(connection) = self.connection.take() {
            match self.post_over(connection, path, content_type, body) {
                // The server lets a connection go on which nothing is asked for long, and has not seen this request.
                Err(error) if is_gone(&error) => {}
                answered => return answered,
            }
        }
        let connection = self.connect()?;
        self.post_over(connection, path, content_type, body)
    }

    fn post_over(
        &mut self,
        mut connection: BufReader<UnixStream>,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> io::Result<Answered> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        let request = [head.as_bytes(), body].concat();
        connection.get_mut().write_all(&request)?;
        let head = read_head(&mut connection)?;
        let mut body = vec![0; head.length.min(ANSWER_CAP_BYTES)];
        connection.read_exact(&mut body)?;
        if !head.closes && head.length <= ANSWER_CAP_BYTES {
            self.connection = Some(connection);
        }
        Ok(Answered {
            status: head.status,
            body,
        })
    }

    fn connect(&self) -> io::Result<BufReader<UnixStream>> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }
}
