//! The client's end: requests to a running loop over its socket.

use std::{
    error::Error as _,
    fmt::Display,
    io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::event::BackgroundCommand;
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
    redirect::Policy,
};
use serde::Deserialize;
use thiserror::Error;
use tokio::{runtime::Runtime, time::timeout};

use super::{Address, ControlReply, ControlRequest, RunStatus, StartBackground, StartedBackground};
use crate::http_client;

/// A loop answers at once; one that does not within this time is stuck or stopped.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// The run answers a tool call within this time, with a ticket if it takes longer.
const TOOL_TIMEOUT: Duration = Duration::from_secs(50);

/// How long a connection is reused after an answer: less than the server waits for the next request.
const FRESH: Duration = Duration::from_secs(4);

/// The base URL of requests over the socket, which have no host.
const OVER_THE_SOCKET: &str = "http://ralph";

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("ralph is not running in this project")]
    NotRunning,
    #[error("{path}: no answer from the running ralph", path = path.display())]
    NoAnswer { path: PathBuf, source: io::Error },
    #[error("{path}: unexpected answer from the running ralph: {what}", path = path.display())]
    Garbled { path: PathBuf, what: String },
    /// The loop answers, but with another status than expected.
    #[error("{why}")]
    Refused { status: StatusCode, why: String },
}

/// A client of one run.
#[derive(Debug, Clone)]
pub struct ControlClient {
    http: reqwest::Client,
    base: String,
    address: Address,
}

/// The answer to a command that was carried out.
#[derive(Debug, Deserialize)]
struct CommandDone {
    text: String,
    seq: Option<u64>,
}

/// The answer to a request that was not carried out.
#[derive(Debug, Deserialize)]
struct ProblemDetail {
    detail: String,
}

impl ControlClient {
    /// Makes a client of the loop that listens on `socket`.
    ///
    /// # Errors
    /// [`ControlError::NoAnswer`] if the HTTP client cannot be built.
    pub fn for_socket(socket: &Path) -> Result<Self, ControlError> {
        Self::for_address(&Address::Socket(socket.to_owned()))
    }

    /// Makes a client of the loop at `address`.
    ///
    /// # Errors
    /// [`ControlError::NoAnswer`] if the HTTP client cannot be built.
    pub fn for_address(address: &Address) -> Result<Self, ControlError> {
        let http = http_client::plain().no_proxy().redirect(Policy::none());
        let http = http.pool_idle_timeout(FRESH);
        let (http, base) = match address {
            Address::Socket(path) => (http.unix_socket(path.as_path()), OVER_THE_SOCKET.to_owned()),
            Address::Http { host, prefix, token } => {
                // A token is one word; a line break in it could add a header.
                let token: String = token.chars().filter(char::is_ascii_graphic).collect();
                let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).expect("graphic characters");
                bearer.set_sensitive(true);
                let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
                (http.default_headers(headers), format!("http://{host}{prefix}"))
            }
        };
        Ok(Self {
            http: http.build().map_err(|error| no_answer(address, error))?,
            base,
            address: address.clone(),
        })
    }

    /// Builds a request for `route`, which begins with a slash.
    pub fn request(&self, method: Method, route: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{route}", self.base))
    }

    /// Sends a request; the response may have an error status. A run that ends resets connections to its socket that it
    /// has not accepted yet: the request is then sent once more, and reaches no run or the next one. No other request is
    /// repeated: it may have been carried out even though no answer has come.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] if no loop listens, [`ControlError::NoAnswer`] if it does not answer.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, ControlError> {
        let again = match self.address {
            Address::Socket(_) => request.try_clone(),
            Address::Http { .. } => None,
        };
        let sent = match (request.send().await, again) {
            (Err(error), Some(again)) if was_not_read(&error) => again.send().await,
            (sent, _) => sent,
        };
        sent.map_err(|error| self.failed(error))
    }

    /// Requests the stream at `route`: the response begins at once, and its body has no time limit.
    ///
    /// # Errors
    /// As [`ask`], and [`ControlError::Refused`] if the status is not a success.
    pub async fn open(&self, route: &str) -> Result<Response, ControlError> {
        self.accepted(self.request(Method::GET, route), REPLY_TIMEOUT).await
    }

    /// Sends a request, whose response begins within `patience`.
    ///
    /// # Errors
    /// As [`ControlClient::open`].
    pub(super) async fn accepted(&self, request: RequestBuilder, patience: Duration) -> Result<Response, ControlError> {
        let answered = async {
            let response = self.send(request).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            let body = response.bytes().await.map_err(|error| self.failed(error))?;
            let problem = serde_json::from_slice(&body).map_err(|_| self.garbled(&status));
            problem.and_then(|ProblemDetail { detail: why }| Err(ControlError::Refused { status, why }))
        };
        let answered = timeout(patience, answered).await;
        answered.map_err(|_| self.no_answer(io::ErrorKind::TimedOut.into()))?
    }

    /// The error that no answer came for the reason `source`.
    pub(super) fn no_answer(&self, source: io::Error) -> ControlError {
        let path = self.address.shown();
        ControlError::NoAnswer { path, source }
    }

    fn garbled(&self, what: &dyn Display) -> ControlError {
        ControlError::Garbled {
            path: self.address.shown(),
            what: what.to_string(),
        }
    }

    fn failed(&self, error: reqwest::Error) -> ControlError {
        match self.address {
            Address::Socket(_) if nobody_listens(&error) => ControlError::NotRunning,
            Address::Socket(_) | Address::Http { .. } => no_answer(&self.address, error),
        }
    }

    /// Asks for the status of the run, without its view.
    ///
    /// # Errors
    /// As [`ControlClient::open`].
    pub async fn status(&self) -> Result<RunStatus, ControlError> {
        let request = self.request(Method::GET, "/status").timeout(REPLY_TIMEOUT);
        let response = self.accepted(request, REPLY_TIMEOUT).await?;
        let body = response.bytes().await.map_err(|error| self.failed(error))?;
        serde_json::from_slice(&body).map_err(|error| self.garbled(&error))
    }

    /// Sends `request` and waits for the reply.
    ///
    /// # Errors
    /// As [`ask`].
    pub async fn ask(&self, request: &ControlRequest) -> Result<ControlReply, ControlError> {
        let asked = match request {
            ControlRequest::Command { command } => self.request(Method::POST, "/commands").json(command),
            ControlRequest::Status => {
                let status = Box::new(self.status().await?);
                return Ok(ControlReply::Status { status });
            }
            ControlRequest::Background(BackgroundCommand::Start { command }) => {
                let command = command.clone();
                self.request(Method::POST, "/tasks").json(&StartBackground { command })
            }
            ControlRequest::Background(BackgroundCommand::Cancel { number }) => {
                self.request(Method::POST, &format!("/tasks/{number}/cancel"))
            }
            ControlRequest::UserOnly(personal) => self.request(Method::POST, &format!("/personal/{}", personal.name())),
            ControlRequest::Tool { called, .. } => self.request(Method::POST, "/tools").json(called),
        };
        let patience = match request {
            ControlRequest::Tool { .. } => TOOL_TIMEOUT,
            ControlRequest::Command { .. }
            | ControlRequest::Status
            | ControlRequest::Background(_)
            | ControlRequest::UserOnly(_) => REPLY_TIMEOUT,
        };
        let response = self.send(asked.timeout(patience)).await?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.failed(error))?;
        let garbled = |what: &dyn Display| self.garbled(what);
        match (request, status) {
            (_, StatusCode::NO_CONTENT) => Ok(ControlReply::Done {
                text: String::new(),
                seq: None,
            }),
            (ControlRequest::Tool { .. }, StatusCode::OK) => {
                let answer = serde_json::from_slice(&body).map_err(|error| garbled(&error))?;
                Ok(ControlReply::Tool { answer })
            }
            (ControlRequest::Background(BackgroundCommand::Start { .. }), StatusCode::OK) => {
                let started: StartedBackground = serde_json::from_slice(&body).map_err(|error| garbled(&error))?;
                let StartedBackground { number, text } = started;
                Ok(ControlReply::Started { number, text })
            }
            (_, StatusCode::OK) => {
                let CommandDone { text, seq } = serde_json::from_slice(&body).map_err(|error| garbled(&error))?;
                Ok(ControlReply::Done { text, seq })
            }
            (_, status) => {
                let ProblemDetail { detail } = serde_json::from_slice(&body).map_err(|_| garbled(&status))?;
                Ok(match status {
                    StatusCode::FORBIDDEN => ControlReply::Forbidden { why: detail },
                    _ => ControlReply::Refused { why: detail },
                })
            }
        }
    }
}

/// Whether a process listens on `socket`, even a loop that hangs and would not answer.
pub fn is_listened_to(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// Sends one request to the loop that listens on `socket`, and waits for the reply. Not for threads inside a runtime.
///
/// # Errors
/// [`ControlError::NotRunning`] if no loop listens, the others if its answer is missing or unreadable.
pub fn ask(socket: &Path, request: &ControlRequest) -> Result<ControlReply, ControlError> {
    let client = ControlClient::for_socket(socket)?;
    let runtime = runtime().map_err(|error| client.no_answer(error))?;
    runtime.block_on(client.ask(request))
}

/// Asks the loop that listens on `socket` for its status. Not for threads inside a runtime.
///
/// # Errors
/// As [`ControlClient::status`].
pub fn status(socket: &Path) -> Result<RunStatus, ControlError> {
    let client = ControlClient::for_socket(socket)?;
    let runtime = runtime().map_err(|error| client.no_answer(error))?;
    runtime.block_on(client.status())
}

/// Makes a runtime for the requests of one thread.
pub(super) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn nobody_listens(error: &reqwest::Error) -> bool {
    let kind = io_error_in(error).map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused))
}

/// Whether the connection ended before the request was read: closing a socket with unread bytes resets it.
fn was_not_read(error: &reqwest::Error) -> bool {
    let kind = io_error_in(error).map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe))
}

/// Finds the system's error among the causes of a request's error.
fn io_error_in(error: &reqwest::Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error);
        }
        source = error.source();
    }
    None
}

fn no_answer(address: &Address, error: reqwest::Error) -> ControlError {
    let source = match error.is_timeout() {
        true => io::ErrorKind::TimedOut.into(),
        false => io::Error::other(error),
    };
    ControlError::NoAnswer {
        path: address.shown(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read, Write},
        os::unix::net::UnixListener,
        thread,
    };

    use super::*;

    /// Closes the next connection with all but the first byte of its request unread.
    fn reset(listener: &UnixListener) {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.read_exact(&mut [0]).expect("a byte");
    }

    #[test]
    fn a_run_that_ends_while_it_is_asked_is_not_running() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let path = socket.clone();
        let ends = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.read_exact(&mut [0]).expect("a byte");
            fs::remove_file(path).expect("its socket");
            drop(listener);
        });
        let asked = ask(&socket, &ControlRequest::Status);
        assert!(matches!(asked, Err(ControlError::NotRunning)), "{asked:?}");
        ends.join().unwrap();
    }

    #[test]
    fn a_request_that_was_reset_unread_is_made_once_more() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let answers = thread::spawn(move || {
            reset(&listener);
            let (mut stream, _) = listener.accept().expect("another connection");
            _ = stream.read(&mut [0; 4096]).expect("a request");
            let body = r#"{"text":"paused","seq":1}"#;
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .expect("it is read");
            // A third connection would be one retry too many.
            reset(&listener);
            reset(&listener);
        });
        let command = ControlRequest::Command {
            command: ralph_core::event::UserCommand::Pause,
        };
        let asked = ask(&socket, &command);
        assert!(
            matches!(&asked, Ok(ControlReply::Done { text, .. }) if text == "paused"),
            "{asked:?}"
        );
        let asked = ask(&socket, &command);
        assert!(matches!(asked, Err(ControlError::NoAnswer { .. })), "{asked:?}");
        answers.join().unwrap();
    }
}
