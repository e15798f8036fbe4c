//! The interface of a protocol: its opening, its commands, and the results of its calls.

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, Problem, ProblemKind, SessionId, SteeringId, ToolKinds};
use serde_json::Value;

use crate::{
    dialect::{Finish, ZonedClock},
    mcp::McpServer,
    usage::EarlierTurns,
};

/// Most pending requests of an agent; further requests are denied.
pub(crate) const PENDING_CAP: usize = 64;

/// The problem that ends a turn if `agent` has used a tool without asking, though rules concern it.
pub(super) fn used_without_asking(agent: &str, what: &str) -> Problem {
    let text = format!("{agent} used a tool without requesting permission, so the rules cannot be enforced: {what}");
    Problem::said(ProblemKind::Usage, text)
}

/// The data with which a session is opened, for protocols that transmit it themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionOpening {
    pub prompt: String,
    /// The project's root.
    pub cwd: String,
    /// A value that is different for every session.
    pub seed: String,
    /// The model to use, if the command line does not carry it.
    pub model: Option<String>,
    pub agent: Option<String>,
    pub resume: Option<SessionId>,
    /// The kinds of tools that rules concern: their use waits for an answer. If empty, the agent asks for nothing.
    pub asks: ToolKinds,
    /// The tools that start subagents.
    pub subagent_tools: Vec<String>,
    /// Whether the id of each tool use begins with the tool's own name.
    pub named_calls: bool,
    pub steering: Steering,
    /// The MCP servers of the session, for a protocol whose messages carry them.
    pub servers: Vec<McpServer>,
    /// Whether the program keeps running after its turn.
    pub stays: bool,
    /// Whether the agent's token counts are incomplete. They are ignored: a sum that is too small is worse than none.
    pub without_tokens: bool,
}

/// How a message reaches the running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Steering {
    /// By the protocol's own means, if the agent supports them.
    #[default]
    Protocol,
    /// As another prompt that joins the turn. Other agents end the turn for it, so the manifest has to declare it.
    Prompt,
    /// Messages are not supported.
    Never,
}

impl Steering {
    /// The names that manifests use.
    pub const NAMES: [(&'static str, Steering); 3] = [
        ("protocol", Steering::Protocol),
        ("prompt", Steering::Prompt),
        ("never", Steering::Never),
    ];
}

/// A command to a running session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionCommand {
    /// A message for the running turn. Its outcome follows as [`AgentSignal::MessageAnswered`].
    Steer { id: SteeringId, text: String },
    /// The answer to a request of the agent.
    Answer { id: AskId, answer: PermissionAnswer },
}

/// The results of a call of a protocol, in the order in which they take effect: signals first, then the bytes.
#[derive(Debug, Default)]
pub struct Exchange {
    pub signals: Vec<AgentSignal>,
    /// Bytes for the agent's standard input.
    pub input: Vec<u8>,
    /// Whether to close the agent's standard input, since the turn is over.
    pub close: bool,
}

impl Exchange {
    /// Adds one line of JSON to the agent's standard input.
    pub(super) fn write(&mut self, message: &Value) {
        // JSON without spaces and line breaks fits on one line.
        self.input.extend_from_slice(message.to_string().as_bytes());
        self.input.push(b'\n');
    }

    /// Reports whether the agent has taken a message for the running turn. A message of ralph itself has no id.
    pub(super) fn answer_message(&mut self, id: impl Into<Option<SteeringId>>, taken: bool) {
        let answered = id
            .into()
            .map(|id| AgentSignal::MessageAnswered { id, taken, text: None });
        self.signals.extend(answered);
    }
}

impl AsMut<Vec<AgentSignal>> for Exchange {
    fn as_mut(&mut self) -> &mut Vec<AgentSignal> {
        &mut self.signals
    }
}

/// One session's conversation with its agent.
pub trait Protocol: Send {
    /// Takes the earlier turns of the session, before the conversation begins.
    fn follow(&mut self, _earlier: EarlierTurns) {}
    /// Begins the conversation.
    fn start(&mut self, _opening: SessionOpening, _exchange: &mut Exchange) {}
    /// Takes the next bytes of the agent's stdout, cut at any position, at the time of their arrival.
    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange);
    /// Takes a line of the program's stderr as plain text. It may contain anything.
    fn stderr_line(&mut self, _line: &str, _clock: &ZonedClock, _exchange: &mut Exchange) {}
    /// Takes a command. A message that comes too late is answered as not taken.
    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange);
    /// Whether the program has to be ended: its turn is over, but it would continue forever.
    fn is_stuck(&self) -> bool {
        false
    }
    /// Takes the exit of the program. On return, exactly one `TurnEnded` has been produced.
    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange);
}
