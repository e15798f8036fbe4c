//! The seam between a session and its agent, in both directions. Pure: bytes and commands in, signals and bytes out.
//!
//! A [`Dialect`] only listens; as a [`OneWay`] protocol it is the channel that needs nothing but the agent's stdout. A live
//! protocol also writes: the prompt, messages for the running turn, answers to what the agent asks.

mod acp;
mod claude;
mod codex;
mod codex_asking;
mod codex_items;
mod codex_steering;
mod difference;
mod seam;
#[cfg(test)]
mod testing;

use super::{
    dialect::{Clock, Dialect, Finish},
    template::Placeholder,
};
use crate::event::{AgentSignal, ToolKinds};

pub(super) use seam::PENDING_CAP;
pub use seam::{Exchange, Opening, Protocol, SessionCommand, Steering};

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

    /// The kinds of tools before every use of which the agent asks, if its manifest does not say it. Over ACP agents ask for
    /// what they find dangerous themselves, unless they are told otherwise in a way of their own.
    pub fn asks(self) -> ToolKinds {
        match self {
            LiveKind::ClaudeStreamJson => ToolKinds::ALL,
            LiveKind::CodexAppServer => codex_asking::KINDS,
            LiveKind::Acp => ToolKinds::NONE,
        }
    }

    /// The kinds whose tools the agent is told to do without where rules have something to say about them: it would use
    /// them without asking.
    pub fn goes_without(self) -> ToolKinds {
        match self {
            LiveKind::ClaudeStreamJson | LiveKind::Acp => ToolKinds::NONE,
            LiveKind::CodexAppServer => codex_asking::SWITCHED_OFF,
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
