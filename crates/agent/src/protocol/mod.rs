//! Protocols between a session and its agent, in both directions. Pure: bytes and commands in, signals and bytes out.
//!
//! A [`Dialect`] only reads; wrapped as a [`OneWay`] protocol it is the channel that needs only the agent's stdout. A
//! live protocol also writes: the prompt, messages for the running turn, answers to the agent's requests.

mod acp;
mod claude;
mod codex;
mod codex_asking;
mod codex_items;
mod codex_steering;
mod difference;
mod pi;
mod seam;
#[cfg(test)]
mod testing;

use ralph_core::event::ToolKinds;

use super::{
    dialect::{Dialect, Finish, ZonedClock},
    template::AdapterPlaceholder,
    usage::EarlierTurns,
};

pub(super) use seam::PENDING_CAP;
pub use seam::{Exchange, Protocol, SessionCommand, SessionOpening, Steering};

/// The supported live protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// `claude -p --input-format stream-json --output-format stream-json`.
    ClaudeStreamJson,
    /// `codex app-server`.
    CodexAppServer,
    /// Any agent with the Agent Client Protocol, version 1.
    Acp,
    /// `pi --mode rpc`.
    PiRpc,
}

impl LiveKind {
    /// The names that manifests use.
    pub const NAMES: [(&'static str, LiveKind); 4] = [
        ("claude-stream-json", LiveKind::ClaudeStreamJson),
        ("codex-app-server", LiveKind::CodexAppServer),
        ("acp", LiveKind::Acp),
        ("pi-rpc", LiveKind::PiRpc),
    ];

    /// Whether a continued session reports usage per turn, independent of the one-way channel.
    pub(super) fn counts_turns(self) -> bool {
        match self {
            LiveKind::ClaudeStreamJson => false,
            LiveKind::CodexAppServer | LiveKind::Acp | LiveKind::PiRpc => true,
        }
    }

    /// Whether the protocol itself carries values that other agents get as arguments.
    pub(super) fn transmits(self, placeholder: AdapterPlaceholder) -> bool {
        match self {
            LiveKind::ClaudeStreamJson | LiveKind::PiRpc => false,
            LiveKind::CodexAppServer => matches!(
                placeholder,
                AdapterPlaceholder::Model | AdapterPlaceholder::Resume | AdapterPlaceholder::McpServers
            ),
            LiveKind::Acp => matches!(
                placeholder,
                AdapterPlaceholder::Model
                    | AdapterPlaceholder::Agent
                    | AdapterPlaceholder::Resume
                    | AdapterPlaceholder::McpServers
            ),
        }
    }

    /// Whether usage is reported during a turn, unless the manifest says otherwise. ACP reports tokens only at the end
    /// of a turn.
    pub fn reports_usage_in_turn(self) -> bool {
        match self {
            LiveKind::ClaudeStreamJson | LiveKind::CodexAppServer | LiveKind::PiRpc => true,
            LiveKind::Acp => false,
        }
    }

    /// Whether subagents are reported with their tokens, and not only the tools that start them.
    pub fn reports_subagents(self) -> bool {
        match self {
            LiveKind::ClaudeStreamJson | LiveKind::CodexAppServer => true,
            LiveKind::Acp | LiveKind::PiRpc => false,
        }
    }

    /// The kinds of tools before every use of which the agent asks, unless the manifest sets them. Over ACP agents ask
    /// only for what they consider dangerous, unless configured otherwise. pi asks for nothing.
    pub fn asks(self) -> ToolKinds {
        match self {
            LiveKind::ClaudeStreamJson => ToolKinds::ALL,
            LiveKind::CodexAppServer => codex_asking::KINDS,
            LiveKind::Acp | LiveKind::PiRpc => ToolKinds::NONE,
        }
    }

    /// The kinds of tools that are switched off if rules concern them, since the agent would use them without asking.
    pub fn dispensable(self) -> ToolKinds {
        match self {
            LiveKind::ClaudeStreamJson | LiveKind::Acp | LiveKind::PiRpc => ToolKinds::NONE,
            LiveKind::CodexAppServer => codex_asking::SWITCHED_OFF,
        }
    }

    /// Creates the protocol of a new session.
    pub fn protocol(self) -> Box<dyn Protocol> {
        match self {
            LiveKind::ClaudeStreamJson => Box::new(claude::ClaudeLive::default()),
            LiveKind::CodexAppServer => Box::new(codex::CodexLive::default()),
            LiveKind::Acp => Box::new(acp::AcpLive::default()),
            LiveKind::PiRpc => Box::new(pi::PiLive::default()),
        }
    }
}

/// A dialect as a protocol: it only reads, and takes no commands.
pub struct OneWay(pub Box<dyn Dialect>);

impl Protocol for OneWay {
    fn follow(&mut self, earlier: EarlierTurns) {
        self.0.follow(earlier);
    }

    fn feed(&mut self, bytes: &[u8], clock: &ZonedClock, exchange: &mut Exchange) {
        self.0.feed(bytes, clock, &mut exchange.signals);
    }

    fn stderr_line(&mut self, line: &str, clock: &ZonedClock, exchange: &mut Exchange) {
        self.0.stderr_line(line, clock, &mut exchange.signals);
    }

    fn command(&mut self, command: SessionCommand, exchange: &mut Exchange) {
        match command {
            SessionCommand::Steer { id, .. } => {
                exchange.answer_message(id, false);
            }
            // A one-way agent asks nothing.
            SessionCommand::Answer { .. } => {}
        }
    }

    fn is_stuck(&self) -> bool {
        self.0.is_stuck()
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, exchange: &mut Exchange) {
        self.0.finish(finish, clock, &mut exchange.signals);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::dialect::DialectKind, *};
    use crate::transcript::Transcript;

    /// Events that no agent has, in the forms in which agents write theirs.
    const UNKNOWN: [&str; 11] = [
        r#"{"type":"NEWS","id":"NEWS"}"#,
        r#"{"type":"system","subtype":"NEWS"}"#,
        r#"{"type":"control_request","request_id":"1","request":{"subtype":"NEWS"}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"NEWS"}]}}"#,
        r#"{"type":"item.completed","item":{"type":"NEWS"}}"#,
        r#"{"type":"agent_event","event":{"type":"NEWS"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"NEWS"}}}"#,
        r#"{"jsonrpc":"2.0","method":"session/NEWS","params":{"threadId":"t"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"NEWS","params":{}}"#,
        r#"["NEWS"]"#,
        r#"{"type":"NEWS", "torn"#,
    ];

    #[test]
    fn an_event_that_is_not_known_is_never_shown() {
        let dialects = DialectKind::NAMES
            .into_iter()
            .filter(|(_, kind)| kind.has(crate::dialect::DialectTrait::Structured));
        let one_way = dialects.map(|(name, kind)| (name, Box::new(OneWay(kind.parser())) as Box<dyn Protocol>, ""));
        let live = LiveKind::NAMES.map(|(name, kind)| (name, kind.protocol(), ACP_OPENED));
        for (name, mut protocol, opened) in one_way.chain(live) {
            let clock = ZonedClock::at("2026-11-20T10:00:00Z");
            let mut exchange = Exchange::default();
            protocol.start(SessionOpening::default(), &mut exchange);
            protocol.feed(opened.as_bytes(), &clock, &mut exchange);
            for line in UNKNOWN {
                protocol.feed(format!("{line}\n").as_bytes(), &clock, &mut exchange);
            }
            let finish = Finish { exit: None, stderr: "" };
            protocol.finish(finish, &clock, &mut exchange);
            let (mut transcript, mut shown) = (Transcript::new(Path::new("/repo"), 80), Vec::new());
            for signal in &exchange.signals {
                transcript.render(signal, &mut shown);
            }
            let shown = String::from_utf8_lossy(&shown);
            assert!(!shown.contains("NEWS"), "{name}: {shown}");
        }
    }

    /// The answers that open a session over ACP, which other agents do not send.
    const ACP_OPENED: &str = concat!(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#,
        "\n"
    );
}
