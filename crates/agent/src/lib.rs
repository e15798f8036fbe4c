//! How one agent is run: an adapter starts sessions, a session reports signals.
//!
//! An adapter is data: a `manifest` that the [`catalog`] puts together from several layers, and a [`dialect`] that
//! turns what the agent writes into signals. [`subprocess`] runs it.

pub mod catalog;
pub mod check;
pub mod dialect;
mod error;
pub mod greeting;
mod identity;
mod invocation;
mod live_output;
pub mod login;
pub mod manifest;
mod manifest_error;
pub mod mcp;
pub(crate) mod model;
pub mod opencode;
pub mod protocol;
mod queries;
mod reporter;
mod signal_writer;
pub mod subprocess;
mod template;
pub mod transcript;
mod usage;

use std::path::{Path, PathBuf};

use ralph_core::event::{AgentSignal, CancelReason, RunId, SessionId, ToolKinds};
pub use ralph_system::proc::Activity;
use ralph_system::proc::{Size, Stop};
use tokio::sync::mpsc;

pub use error::AgentError;
pub use identity::GitIdentity;
pub use manifest_error::ManifestError;
pub use protocol::SessionCommand;

/// Runs sessions of one agent.
pub trait AgentAdapter: Send + Sync {
    fn id(&self) -> &str;
    fn capabilities(&self) -> Capabilities;
    /// Finds out, before anything is started, whether sessions in `cwd` can be: is the program there?
    ///
    /// # Errors
    /// [`AgentError::NotInstalled`], with how to install it.
    fn check(&self, cwd: &Path) -> Result<(), AgentError>;
    /// Finds out whether sessions can be asked for `model`; whether there is such a model, only the agent knows.
    ///
    /// # Errors
    /// [`AgentError::NoPlaceFor`] and [`AgentError::ProviderMissing`].
    fn takes_model(&self, _model: &str) -> Result<(), AgentError> {
        Ok(())
    }
    /// Whether its sessions are given MCP servers on the live channel, or `one_way`.
    fn hands_on_servers(&self, _one_way: bool) -> bool {
        false
    }
    /// Starts a session that reports to `out` and writes what a person would watch to `request.display`.
    /// Returns at once; failures arrive as signals, and [`AgentSignal::Ended`] comes exactly once and last.
    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session>;
    /// Ends what sessions had in common, and waits until it has ended, within bounds. Called when the run is over.
    fn close(&self) {}
}

/// What an agent can do beyond running a prompt to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    pub live_steering: bool,
    pub permissions: bool,
    /// The kinds of tools before every use of which it asks, where the session is to ask.
    pub asks: ToolKinds,
    /// The kinds whose tools it can do without, where rules have something to say about them.
    pub goes_without: ToolKinds,
    pub resume: bool,
    pub usage: bool,
    pub cost: bool,
    /// It tells what each request used while its turn goes on, and not all of it at the end.
    pub usage_in_turn: bool,
}

/// How an agent is talked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Live where somebody watches and the agent can do it.
    Auto,
    /// It gets its prompt and is listened to.
    OneWay,
    /// It can be told something while it works.
    Live,
}

impl ralph_policy::settings::Choice for Channel {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", Channel::Auto),
        ("one-way", Channel::OneWay),
        ("live", Channel::Live),
    ];
}

/// One session's input.
pub struct SessionRequest {
    pub run: RunId,
    pub iteration: u32,
    /// A file with the prompt; it stays until the session has ended.
    pub prompt: PathBuf,
    pub cwd: PathBuf,
    pub model: Option<String>,
    /// opencode's own agent (`build`, `plan`, …).
    pub agent: Option<String>,
    pub resume: Option<SessionId>,
    pub size: Size,
    /// Every use of a tool asks first, where the session is live.
    pub asks: bool,
    /// The live channel is not used, although the adapter has one.
    pub one_way: bool,
    /// `RALPH_*` variables for the agent.
    pub env: Vec<(String, String)>,
    /// A directory only the user can read, for short-lived files.
    pub scratch: PathBuf,
    pub display: Box<dyn Display>,
}

/// The data plane: terminal bytes for the recording and whoever watches. Blocking here slows the agent, nothing else.
pub trait Display: Send + 'static {
    fn show(&mut self, bytes: &[u8]);
}

/// A running session. Dropping it stops the agent at once.
pub trait Session: Send {
    fn stop(&self, stop: Stop);
    /// Tells why it is about to be stopped, so that what the agent reports of its end is not taken for a problem of its own.
    fn ends_for(&self, _reason: CancelReason) {}
    fn resize(&self, size: Size);
    /// Types bytes into the agent's terminal.
    fn type_bytes(&self, bytes: &[u8]);
    /// Sets out to tell the agent something. What became of it follows as a signal; nothing follows if the session ends
    /// before.
    ///
    /// # Errors
    /// [`NotLive`] where the agent is told nothing before its next prompt.
    fn send(&self, command: SessionCommand) -> Result<(), NotLive>;
    fn activity(&self) -> Activity;
}

/// The agent is told nothing while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLive;
