//! Errors that prevent a server from being used.

use thiserror::Error;

use super::server_url::ServerUrl;

/// An error of a server or of a request to it.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("the HTTP client could not be set up")]
    Client { source: reqwest::Error },
    #[error("{url}: no server can be reached")]
    Unreachable { url: ServerUrl, source: reqwest::Error },
    #[error("{url}: no answer in time")]
    TimedOut { url: ServerUrl, source: reqwest::Error },
    #[error("{url}: the server {}", refused(*.password_given))]
    Unauthorized { url: ServerUrl, password_given: bool },
    #[error("{url}: this is not an opencode server, or not a healthy one")]
    Foreign { url: ServerUrl },
    #[error("{url}: opencode {} cannot be driven as a server", .version.as_deref().unwrap_or("2"))]
    TooNew { url: ServerUrl, version: Option<String> },
    #[error("the server refused: {message} (status {status})")]
    Refused { status: u16, message: String },
    #[error("the server did not start: {why}")]
    NotStarted { why: String },
    #[error("the server was not ready within {seconds} s{}", said(.tail))]
    NotReady { seconds: u64, tail: String },
}

impl ServerError {
    /// Advice for the user.
    pub fn hints(&self) -> Vec<String> {
        let hints: &[&str] = match self {
            ServerError::Unreachable { .. } => {
                &["start it with `opencode serve --port PORT`, or leave `--server` out to have ralph start one"]
            }
            ServerError::TimedOut { .. } => &["give it more time with `--server-timeout MS`"],
            ServerError::Unauthorized { .. } => &[
                "set OPENCODE_SERVER_PASSWORD to its password, and OPENCODE_SERVER_USERNAME if that is not `opencode`",
            ],
            ServerError::Foreign { .. } => &[
                "name the address of `opencode serve` with `--server http://HOST:PORT`",
                "opencode 2 answers like this, and cannot be driven as a server: install opencode 1, `npm install -g opencode-ai@1`",
            ],
            ServerError::TooNew { .. } => &[
                "install opencode 1: `npm install -g opencode-ai@1`",
                "or use its command line, if that is still as it was: `--adapter opencode-run`",
            ],
            ServerError::NotStarted { .. } | ServerError::NotReady { .. } => {
                &["`opencode serve` by hand shows what is wrong"]
            }
            ServerError::Client { .. } | ServerError::Refused { .. } => &[],
        };
        hints.iter().map(|hint| (*hint).to_owned()).collect()
    }
}

fn refused(password_given: bool) -> &'static str {
    match password_given {
        true => "refuses the password",
        false => "wants a password",
    }
}

fn said(tail: &str) -> String {
    match tail.is_empty() {
        true => String::new(),
        false => format!("; its last words: {tail}"),
    }
}
