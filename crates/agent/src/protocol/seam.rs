//! What a protocol is: what it is opened with, what it is told, and what a call of it leads to.

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, Problem, ProblemKind, SessionId, SteeringId, ToolKinds};
use serde_json::Value;

use crate::{
    dialect::{Clock, Finish},
    mcp::McpServer,
};

/// Most requests of an agent that wait for an answer at once; what comes on top of that is denied.
pub(crate) const PENDING_CAP: usize = 64;

/// What ends a turn: `agent` has used a tool without asking, though rules concern it.
pub(super) fn used_without_asking(agent: &str, what: &str) -> Problem {
    let text = format!("{agent} has used a tool without asking, so it cannot be held to the rules: {what}");
    Problem::said(ProblemKind::Usage, text)
}

/// What a session is started with, for protocols that hand it over themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    pub prompt: String,
    /// The project's root.
    pub cwd: String,
    /// Different for every session there ever is.
    pub seed: String,
    /// What to use, where the command line does not say it.
    pub model: Option<String>,
    pub agent: Option<String>,
    pub resume: Option<SessionId>,
    /// The kinds of tools that rules have something to say about: their use waits for an answer. Without any, the agent asks
    /// for nothing.
    pub asks: ToolKinds,
    /// The name of each use of a tool begins with the tool's own name.
    pub named_calls: bool,
    pub steering: Steering,
    /// The MCP servers of the session, for a protocol that has them in its messages.
    pub servers: Vec<McpServer>,
    /// The program does not end by itself once its turn is over.
    pub stays: bool,
    /// The tokens that it tells are not those of the whole turn. They are left out: a sum that is too small is worse than
    /// none.
    pub without_tokens: bool,
}

/// How a message reaches the running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Steering {
    /// As the protocol has it, if the agent can do it.
    #[default]
    Protocol,
    /// As another prompt, which joins the turn. Agents may as well end the turn for it, so it is said of each that can.
    Prompt,
    /// Not at all.
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

/// What a running session can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionCommand {
    /// A message for the running turn. What became of it follows as [`AgentSignal::MessageAnswered`].
    Steer { id: SteeringId, text: String },
    /// The answer to what the agent asked.
    Answer { id: AskId, answer: PermissionAnswer },
}

/// What a call of a protocol leads to, in the order in which it has to happen: signals first, then the bytes.
#[derive(Debug, Default)]
pub struct Exchange {
    pub signals: Vec<AgentSignal>,
    /// For the agent's standard input.
    pub input: Vec<u8>,
    /// Nothing follows on the agent's standard input: the turn is over.
    pub close: bool,
}

impl Exchange {
    /// Adds one line of JSON to the agent's standard input.
    pub(super) fn write(&mut self, message: &Value) {
        // Shown without spaces and line breaks, whatever is in it.
        self.input.extend_from_slice(message.to_string().as_bytes());
        self.input.push(b'\n');
    }
}

/// One session's conversation with its agent.
pub trait Protocol: Send {
    /// Begins the conversation.
    fn start(&mut self, _opening: Opening, _exchange: &mut Exchange) {}
    /// Takes the next bytes of the agent's stdout, cut anywhere, at the time they arrive.
    fn feed(&mut self, bytes: &[u8], clock: &Clock, exchange: &mut Exchange);
    /// Takes a line that the program wrote beside that, as plain text. Anything may be in it.
    fn stderr_line(&mut self, _line: &str, _clock: &Clock, _exchange: &mut Exchange) {}
    /// Takes a command. One that comes too late is answered as not taken.
    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange);
    /// Whether the program has to be ended: its turn is over, and it would go on for ever.
    fn is_stuck(&self) -> bool {
        false
    }
    /// Takes the end of the program. Exactly one `TurnEnded` has been given when this returns.
    fn finish(&mut self, finish: Finish<'_>, clock: &Clock, exchange: &mut Exchange);
}
