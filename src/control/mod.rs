//! The control socket's protocol: one JSON request a line, one JSON reply a line.
//!
//! The socket lies in the state directory, which only the user can enter. An agent runs as that user: who it is that asks
//! is therefore told apart by the process that has connected, and an agent may look and not command.

mod listener;

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    event::{BreakerState, Question, RunId, SteeringId, SteeringKind, Totals, UserCommand},
    run::RunView,
};

pub use listener::{Asked, Listener, RoleOf, answer};

/// A loop answers at once; one that does not within this time is stuck or stopped.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("ralph is not running in this project")]
    NotRunning,
    #[error("{path}: no answer from the running ralph", path = path.display())]
    NoAnswer {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: unexpected answer from the running ralph", path = path.display())]
    Garbled {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Request {
    Command {
        command: UserCommand,
    },
    Status,
    /// Whoever asks is about to trust the project's own files, which is not for an agent.
    Trust,
}

/// On whose behalf a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May do everything.
    User,
    /// The agent, a goal, or whatever else the run has started: may look.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// The command was taken; what it did, in words.
    Done {
        text: String,
    },
    Refused {
        why: String,
    },
    /// Not for an agent, whatever the run is doing.
    Forbidden {
        why: String,
    },
    Status {
        status: Box<Status>,
    },
}

/// A running loop at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub run: RunId,
    pub pid: u32,
    /// The one that works now: another than the first while that is limited.
    pub adapter: String,
    /// Until when adapters are limited.
    #[serde(default)]
    pub limited: BTreeMap<String, u64>,
    pub plan: PathBuf,
    /// The run is over.
    #[serde(default)]
    pub over: bool,
    /// What the loop does now, in words.
    pub phase: String,
    /// When the phase ends by itself, if it does: the wait's end.
    pub until_ms: Option<u64>,
    /// Set while the agent has neither written nor computed for half of the idle limit or longer.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    pub task: Option<String>,
    pub paused: bool,
    #[serde(default)]
    pub breaker: BreakerStatus,
    pub totals: Totals,
    pub steering: Vec<QueuedSteering>,
    /// What the agent asks to be allowed.
    #[serde(default)]
    pub asks: Vec<PendingAsk>,
    /// All that the records say. A loop does not send it: whoever wants it reads the journal, which is as young.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<RunView>>,
}

/// An agent that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quiet {
    pub since_ms: u64,
    /// When its iteration is ended unless it does something.
    pub until_ms: u64,
}

/// What the breaker has counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerStatus {
    pub state: BreakerState,
    /// Why it is not closed.
    pub why: String,
    /// Iterations running without progress.
    pub no_progress: u32,
    /// Iterations running that failed in the same way.
    pub same_error: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedSteering {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
}

/// A question of the agent's that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingAsk {
    pub number: u32,
    pub tool: String,
    pub title: String,
    /// What it asks in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// When it is decided without an answer; none if it waits without end.
    pub until_ms: Option<u64>,
    /// The agent does not wait any more: an answer is in its next prompt.
    #[serde(default)]
    pub missed: bool,
    /// What `always` allows with it from then on.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// Tells whether somebody listens at `socket`, be it a loop that hangs and would not answer.
pub fn is_listened_to(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// Sends one request to the loop that listens at `socket`.
///
/// # Errors
/// [`ControlError::NotRunning`] if nobody listens, the others if whoever does cannot be understood.
pub fn ask(socket: &Path, request: &Request) -> Result<Reply, ControlError> {
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
    stream.set_read_timeout(Some(REPLY_TIMEOUT)).map_err(no_answer)?;
    stream.set_write_timeout(Some(REPLY_TIMEOUT)).map_err(no_answer)?;
    let mut line = serde_json::to_vec(request).expect("requests have no failing serialisers");
    line.push(b'\n');
    stream.write_all(&line).map_err(no_answer)?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).map_err(no_answer)?;
    if reply.is_empty() {
        return Err(no_answer(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_str(&reply).map_err(|source| ControlError::Garbled {
        path: socket.to_owned(),
        source,
    })
}
