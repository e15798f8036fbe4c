//! The writing side of one connection: answers, event streams, and waits that end if the client leaves.

use std::{
    io::{self, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::scenario::{Flow, ModelAnswer};

/// Polling interval for an answer that is held back.
const LOOK: Duration = Duration::from_millis(10);

/// Why an answer was not completed.
#[derive(Debug)]
pub enum Halt {
    /// The scenario cut it.
    Cut,
    /// The client disconnected, or the server was dropped.
    Gone,
}

impl From<io::Error> for Halt {
    // Every socket error means that no client is left to answer.
    fn from(_: io::Error) -> Halt {
        Halt::Gone
    }
}

/// The connection to a client, for answers.
pub struct AnswerConnection {
    stream: TcpStream,
}

impl AnswerConnection {
    pub fn new(stream: TcpStream) -> AnswerConnection {
        AnswerConnection { stream }
    }

    /// Sends a complete answer. Without a body, it may answer a `HEAD`.
    pub fn respond(&mut self, status: u16, headers: &[(String, String)], body: Option<&Value>) -> Result<(), Halt> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\n",
            reason(status)
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body.as_bytes())?;
        Ok(())
    }

    /// Starts a stream of server-sent events.
    pub fn start_events(&mut self) -> Result<(), Halt> {
        self.stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        Ok(())
    }

    /// Sends one named event as one chunk.
    pub fn event(&mut self, name: &str, data: &Value) -> Result<(), Halt> {
        self.chunk(&format!("event: {name}\ndata: {data}\n\n"))
    }

    /// Sends one event without a name as one chunk.
    pub fn data(&mut self, data: &Value) -> Result<(), Halt> {
        self.raw_data(&data.to_string())
    }

    /// Sends one event whose data is not JSON.
    pub fn raw_data(&mut self, data: &str) -> Result<(), Halt> {
        self.chunk(&format!("data: {data}\n\n"))
    }

    fn chunk(&mut self, text: &str) -> Result<(), Halt> {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.stream.write_all(chunk.as_bytes())?;
        Ok(())
    }

    pub fn finish_events(&mut self) -> Result<(), Halt> {
        self.stream.write_all(b"0\r\n\r\n")?;
        Ok(())
    }

    /// Sends the answer's text through `send`, piece by piece as its flow requires.
    pub fn pieces(
        &mut self,
        answer: &ModelAnswer,
        mut send: impl FnMut(&mut AnswerConnection, &str) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let text = answer.text.as_deref().unwrap_or_default();
        match &answer.flow {
            Flow::Drip(interval) => {
                for word in text.split_inclusive(' ') {
                    send(self, word)?;
                    self.wait(*interval)?;
                }
                Ok(())
            }
            Flow::Held(gate) => {
                let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
                send(self, first)?;
                while !gate.is_open() {
                    self.wait(LOOK)?;
                }
                send(self, &format!(" {rest}"))
            }
            Flow::Endless(interval) => loop {
                send(self, "more ")?;
                self.wait(*interval)?;
            },
            Flow::Hang => {
                send(self, text)?;
                Err(self.hang())
            }
            Flow::Cut => {
                send(self, text)?;
                Err(self.cut())
            }
            Flow::Whole | Flow::Error { .. } => send(self, text),
        }
    }

    /// Waits, unless the client disconnects first.
    pub fn wait(&mut self, delay: Duration) -> Result<(), Halt> {
        let end = Instant::now() + delay;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.stream.set_read_timeout(Some(left))?;
            let seen = self.stream.peek(&mut [0]);
            self.stream.set_read_timeout(None)?;
            match seen {
                // The client closed the connection, or sent a request before the last answer, which no agent does.
                Ok(_) => return Err(Halt::Gone),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Halt::Gone),
            }
        }
    }

    /// Sends nothing more; returns when the client disconnects or the server is dropped.
    pub fn hang(&mut self) -> Halt {
        while self.wait(Duration::from_secs(3600)).is_ok() {}
        Halt::Gone
    }

    pub fn cut(&mut self) -> Halt {
        _ = self.stream.shutdown(Shutdown::Both); // the client may have gone already
        Halt::Cut
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Error",
    }
}
