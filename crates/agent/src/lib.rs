//! Adapters, which start sessions of an agent, and sessions, which report signals.
//!
//! An adapter is data: a `manifest` that the [`catalog`] merges from several layers, and a [`dialect`] that turns the
//! agent's output into signals. [`subprocess`] runs it.

#![deny(unreachable_pub)]

pub mod catalog;
pub mod check;
pub mod check_turn;
pub mod dialect;
mod error;
mod identity;
mod invocation;
mod live_output;
pub mod login;
pub mod manifest;
mod manifest_error;
pub mod mcp;
pub(crate) mod model;
pub mod opencode;
mod prices;
pub mod protocol;
mod queries;
pub mod registry;
mod reporter;
mod signal_writer;
mod state;
mod subagents;
pub mod subprocess;
mod template;
mod thread_records;
pub mod transcript;
mod unstarted;
mod usage;

use std::path::{Path, PathBuf};

use ralph_core::event::{AgentSignal, CancelReason, RunId, SessionId, SubagentLimits, ToolKinds};
pub use ralph_system::proc::Activity;
use ralph_system::proc::{Size, StopSpeed};
use tokio::sync::mpsc;

pub use error::AgentError;
pub use identity::GitIdentity;
pub use manifest_error::ManifestError;
pub use prices::{ModelPrice, Prices};
pub use protocol::SessionCommand;

/// Runs sessions of one agent.
pub trait AgentAdapter: Send + Sync {
    fn id(&self) -> &str;
    fn capabilities(&self) -> Capabilities;
    /// Checks before a run whether sessions in `cwd` can be started, for example whether the program is installed.
    ///
    /// # Errors
    /// [`AgentError::NotInstalled`], with advice on how to install it, or [`AgentError::Server`] if a named server
    /// cannot be used.
    fn check(&self, cwd: &Path) -> Result<(), AgentError>;
    /// Checks whether sessions can be given `model`. Only the agent knows whether the model exists.
    ///
    /// # Errors
    /// [`AgentError::NoPlaceFor`] and [`AgentError::ProviderMissing`].
    fn takes_model(&self, _model: &str) -> Result<(), AgentError> {
        Ok(())
    }
    /// Whether a session in `cwd` can be told to ask before every use of a tool, although earlier ones were not.
    fn can_ask_always(&self, _cwd: &Path) -> bool {
        false
    }
    /// Whether sessions are given MCP servers on the live channel, or on the one-way channel if `one_way`.
    fn passes_mcp_servers(&self, _one_way: bool) -> bool {
        false
    }
    /// Starts a session that reports to `out` and writes output for the user to `request.display`. Returns at once;
    /// failures arrive as signals, and [`AgentSignal::Ended`] comes exactly once and last.
    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session>;
    /// Ends resources that the sessions shared, and waits for their end with a bound. Called when the run is over.
    fn close(&self) {}
}

/// The capabilities of an agent beyond running a prompt to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    pub live_steering: bool,
    pub permissions: bool,
    /// The kinds of tools before every use of which the agent asks, in sessions that are to ask.
    pub asks: ToolKinds,
    /// The kinds of tools that the agent can do without if rules concern them.
    pub dispensable: ToolKinds,
    pub resume: bool,
    pub usage: bool,
    pub cost: bool,
    /// Whether usage is reported for each request during the turn, and not only at its end.
    pub usage_in_turn: bool,
}

impl Capabilities {
    /// Whether the agent asks before every use of a tool that it cannot do without.
    pub fn can_ask_always(&self) -> bool {
        self.asks.plus(self.dispensable) == ToolKinds::ALL
    }
}

/// The way in which ralph talks to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Live if a user is watching and the agent supports it.
    Auto,
    /// The agent gets its prompt, and ralph only reads its output.
    OneWay,
    /// The agent can be sent messages while it works.
    Live,
}

impl ralph_policy::settings::NamedChoice for Channel {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", Channel::Auto),
        ("one-way", Channel::OneWay),
        ("live", Channel::Live),
    ];
}

/// The input of one session.
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
    /// The kinds of tools before whose use the agent has to ask. If there are any, the live channel is used.
    pub asks: ToolKinds,
    /// The limits on its subagents, for an agent with limits of its own.
    pub subagents: SubagentLimits,
    /// Whether the live channel is not used, although the adapter has one.
    pub one_way: bool,
    /// `RALPH_*` variables for the agent.
    pub env: Vec<(String, String)>,
    /// A directory only the user can read, for short-lived files.
    pub scratch: PathBuf,
    pub display: Box<dyn Display>,
}

/// The data plane: terminal bytes for the recording and for viewers. A blocking implementation slows down only the
/// agent.
pub trait Display: Send + 'static {
    fn show(&mut self, bytes: &[u8]);
}

/// A running session. Dropping it stops the agent at once.
pub trait Session: Send {
    fn stop(&self, stop: StopSpeed);
    /// Announces why the session is about to be stopped, so that the agent's reports of its end do not count as a
    /// problem.
    fn ends_for(&self, _reason: CancelReason) {}
    fn resize(&self, size: Size);
    /// Types bytes into the agent's terminal.
    fn type_bytes(&self, bytes: &[u8]);
    /// Starts to send a command to the agent. The outcome follows as a signal, unless the session ends before.
    ///
    /// # Errors
    /// [`NotLive`] if the agent cannot be told anything before its next prompt.
    fn send(&self, command: SessionCommand) -> Result<(), NotLive>;
    fn activity(&self) -> Activity;
}

/// The agent cannot be told anything while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLive;
