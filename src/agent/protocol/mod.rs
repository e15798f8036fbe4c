//! The seam between a session and its agent, in both directions. Pure: bytes and commands in, signals and bytes out.
//!
//! A [`Dialect`] only listens; as a [`OneWay`] protocol it is the channel that needs nothing but the agent's stdout. A live
//! protocol also writes: the prompt, messages for the running turn, answers to what the agent asks.

mod acp;
mod claude;
mod codex;
mod codex_items;
mod codex_steering;

use serde_json::Value;

use super::{
    dialect::{Clock, Dialect, Finish},
    template::Placeholder,
};
use crate::event::{AgentSignal, AskId, PermissionAnswer, SessionId, SteeringId};

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
    /// Every use of a tool waits for an answer; else the agent asks for nothing.
    pub asks: bool,
    pub steering: Steering,
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
    fn write(&mut self, message: &Value) {
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

/// The live protocols there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// `claude -p --input-format stream-json --output-format stream-json`.
    ClaudeStreamJson,
    /// `codex app-server`.
    CodexAppServer,
    /// Any agent with the Agent Client Protocol, version 1.
    Acp,
}

impl LiveKind {
    /// The names that manifests use.
    pub const NAMES: [(&'static str, LiveKind); 3] = [
        ("claude-stream-json", LiveKind::ClaudeStreamJson),
        ("codex-app-server", LiveKind::CodexAppServer),
        ("acp", LiveKind::Acp),
    ];

    /// Whether it tells what each turn of a continued session used, whatever the one-way channel tells.
    pub(super) fn counts_turns(self) -> bool {
        match self {
            LiveKind::ClaudeStreamJson => false,
            LiveKind::CodexAppServer | LiveKind::Acp => true,
        }
    }

    /// Whether it hands over by itself what other agents get as arguments.
    pub(super) fn hands_over(self, placeholder: Placeholder) -> bool {
        match self {
            LiveKind::ClaudeStreamJson => false,
            LiveKind::CodexAppServer => matches!(placeholder, Placeholder::Model | Placeholder::Resume),
            LiveKind::Acp => matches!(
                placeholder,
                Placeholder::Model | Placeholder::Agent | Placeholder::Resume
            ),
        }
    }

    /// Whether every use of a tool can be put before rules; the others ask only for what they find dangerous themselves.
    pub fn asks_for_every_tool(self) -> bool {
        match self {
            LiveKind::ClaudeStreamJson => true,
            LiveKind::CodexAppServer | LiveKind::Acp => false,
        }
    }

    /// The protocol of a new session.
    pub fn protocol(self) -> Box<dyn Protocol> {
        match self {
            LiveKind::ClaudeStreamJson => Box::new(claude::ClaudeLive::default()),
            LiveKind::CodexAppServer => Box::new(codex::CodexLive::default()),
            LiveKind::Acp => Box::new(acp::Acp::default()),
        }
    }
}

/// A dialect as a protocol: it listens, and takes no command.
pub struct OneWay(pub Box<dyn Dialect>);

impl Protocol for OneWay {
    fn feed(&mut self, bytes: &[u8], clock: &Clock, exchange: &mut Exchange) {
        self.0.feed(bytes, clock, &mut exchange.signals);
    }

    fn stderr_line(&mut self, line: &str, clock: &Clock, exchange: &mut Exchange) {
        self.0.stderr_line(line, clock, &mut exchange.signals);
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        match command {
            SessionCommand::Steer { id, .. } => {
                exchange.signals.push(AgentSignal::MessageAnswered { id, taken: false });
            }
            // It asks nothing.
            SessionCommand::Answer { .. } => {}
        }
    }

    fn is_stuck(&self) -> bool {
        self.0.is_stuck()
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &Clock, exchange: &mut Exchange) {
        self.0.finish(finish, clock, &mut exchange.signals);
    }
}
