//! Parsers that turn an agent's output into signals. Pure: bytes in, signals out.
//!
//! Stop 3 of the tour in ARCHITECTURE.md: from here on no code knows which agent runs.
//!
//! A dialect decides whether a turn succeeded ([`TurnEnded`](ralph_core::event::AgentSignal::TurnEnded)): an exit code alone
//! proves nothing, since agents exit with 0 without having done the work. Text that an agent merely quotes (in its
//! messages, in the output of its tools) is never treated as an error of its own.

mod calls;
mod classify;
mod claude;
mod claude_subagents;
mod cline;
mod clock;
mod codex;
mod codex_subagents;
mod command_line;
mod copilot;
mod excerpt;
mod fields;
mod gemini;
mod lines;
mod opencode;
mod opencode_parts;
mod parser;
mod patterns;
mod pi;
mod ralph;
#[cfg(test)]
mod recordings_tests;
mod reset;
mod terminal;
mod todos;
mod turn;
mod verdict;
mod wording;

use std::sync::Arc;

pub(super) use calls::{path_in, short_input, tool_input};
pub(super) use classify::{classify, classify_answer, from_status, one_line, repeated, with_time};
pub(super) use claude::ClaudeTurn;
pub use clock::ZonedClock;
pub(super) use codex::{CodexTurn, UNEXPLAINED as UNEXPLAINED_BY_CODEX, attempts};
pub(super) use command_line::script;
pub(super) use excerpt::head;
pub use excerpt::{OUTPUT_CAP_BYTES, OUTPUT_CAP_LINES, TEXT_CAP_BYTES};
pub(super) use fields::{array, choices, number, percent, text};
pub(super) use lines::{JsonLineParser, UnknownReports};
pub(super) use opencode_parts::{file_change, is_denial, problem_of, tool_ended, tool_started, usage};
pub use parser::{Dialect, Finish};
pub(super) use parser::{JsonDialect, JsonTurn};
pub use patterns::{LinePattern, LinePatterns};
pub(super) use pi::PiTurn;
pub(super) use reset::{epoch_ms, until_in_text};
pub(super) use terminal::Tail;
pub(super) use todos::TodoList;
pub(super) use verdict::without_verdict;

/// A trait that not all dialects have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialectTrait {
    /// The program writes signals to stdout, as opposed to output for a user.
    Structured,
    /// The agent's text arrives while it is written, and not in whole messages.
    StreamsText,
    /// Usage is reported during a turn, unless the manifest says otherwise.
    UsageInTurn,
    /// Usage is the sum over a session, unless the manifest says otherwise. The default is that of the program for which
    /// the dialect was made.
    SumsUsage,
    /// Subagents are reported, and not only the tools that start them.
    Subagents,
    /// The tokens of subagents are a part of the usage, or are read from the agent's records.
    CountsSubagents,
}

/// A dialect, and what a program that speaks it does unless its manifest says otherwise.
struct DialectRow {
    /// The name that manifests use.
    name: &'static str,
    traits: &'static [DialectTrait],
    /// Creates a parser for a new session.
    parser: fn() -> Box<dyn Dialect>,
}

/// Declares the dialects, each with the module that has its row.
macro_rules! dialects {
    ($($(#[$doc:meta])* $kind:ident = $module:ident,)+) => {
        /// The supported dialects.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DialectKind {
            $($(#[$doc])* $kind,)+
        }

        /// Every dialect, in the order of the kinds.
        const ROWS: &[DialectRow] = &[$($module::ROW),+];

        impl DialectKind {
            /// The names that manifests use.
            pub const NAMES: [(&'static str, DialectKind); ROWS.len()] =
                [$(($module::ROW.name, DialectKind::$kind)),+];
        }
    };
}

dialects! {
    /// `codex exec --json`.
    CodexJson = codex,
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeStreamJson = claude,
    /// `gemini --output-format stream-json`.
    GeminiStreamJson = gemini,
    /// `opencode run --format json`.
    OpencodeJson = opencode,
    /// `copilot --output-format json`.
    CopilotJson = copilot,
    /// `pi --mode json --print`.
    PiJson = pi,
    /// `cline --json`.
    ClineJson = cline,
    /// ralph's own signals, one JSON object per line.
    RalphJsonl = ralph,
    /// Any program: no messages, only its terminal output.
    Terminal = terminal,
}

impl DialectKind {
    fn row(self) -> &'static DialectRow {
        &ROWS[self as usize]
    }

    pub fn has(self, what: DialectTrait) -> bool {
        self.row().traits.contains(&what)
    }

    /// Creates a parser for a new session.
    pub fn parser(self) -> Box<dyn Dialect> {
        (self.row().parser)()
    }
}

/// Creates a parser of terminal output for a new session of an adapter with patterns.
pub(super) fn terminal_with(patterns: Arc<LinePatterns>) -> Box<dyn Dialect> {
    Box::new(terminal::TerminalDialect::with(patterns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{AgentSignal, Exit},
        testing::Dice,
    };

    /// Pieces of agent output, and of input that no agent should produce.
    const PIECES: [&[u8]; 47] = [
        b"\n",
        b"\r\n",
        b"\0\xff\xe2\x82",
        b"\x1b[31m",
        b"\x1b]0;",
        b"{\"type\":\"thread.started\",\"thread_id\":7}",
        b"{\"type\":\"item.completed\",\"item\":[]}",
        b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":null}}",
        b"{\"type\":\"item.started\",\"item\":{\"type\":\"command_execution\",\"command\":\"'\"}}",
        b"{\"type\":\"error\",\"message\":\"Reconnecting... 9999999999999/x (\"}",
        b"{\"type\":\"turn.failed\"}",
        b"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":-1}}",
        b"{\"type\":\"turn-ended\",\"ok\":true}",
        b"{\"type\":{}}",
        b"[[[[[[[[[[",
        b"{\"type\":\"system\",\"subtype\":\"api_retry\",\"retry_delay_ms\":-1e300,\"error_status\":99999}",
        b"{\"type\":\"assistant\",\"message\":{\"content\":\"text\"}}",
        b"{\"type\":\"assistant\",\"message\":{\"content\":[7,{\"type\":\"tool_use\",\"input\":[]}]}}",
        b"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\"}]},\"tool_use_result\":{\"filePath\":1}}",
        b"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":18446744073709551615}}",
        b"{\"type\":\"result\",\"is_error\":true,\"api_error_status\":70000,\"result\":\"resets 7pm (\"}",
        b"{\"type\":\"result\",\"is_error\":false}",
        b"{\"type\":\"init\",\"session_id\":[]}",
        b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"a\",\"delta\":true}",
        b"{\"type\":\"tool_use\",\"tool_id\":1,\"timestamp\":\"-009999-01-01T00:00:00Z\"}",
        b"{\"type\":\"tool_result\",\"timestamp\":\"never\"}",
        b"{\"type\":\"result\",\"status\":\"error\",\"error\":{\"message\":\"[API Error: ]]\"}}",
        b"{\"type\":\"result\",\"status\":\"success\"}",
        b"{\"type\":\"step_start\",\"sessionID\":\"s\"}",
        b"{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\",\"tokens\":[],\"cost\":\"x\"}}",
        b"{\"type\":\"tool_use\",\"part\":{\"state\":{\"status\":\"completed\",\"time\":{\"start\":9,\"end\":1}}}}",
        b"{\"type\":\"error\",\"error\":{\"name\":\"ContextOverflowError\"}}",
        b"{\"type\":\"error\",\"error\":{\"data\":{\"statusCode\":-1,\"responseBody\":\"{\"}}}",
        b"{\"type\":\"model.call_failure\",\"data\":{\"statusCode\":-1,\"retryAttempt\":4294967295,\"errorMessage\":\"{\"}}",
        b"{\"type\":\"assistant.turn_retry\",\"data\":[]}",
        b"{\"type\":\"tool.execution_complete\",\"data\":{\"fileEdits\":[7,{}],\"success\":\"yes\"}}",
        b"{\"type\":\"result\",\"exitCode\":0,\"sessionId\":[]}",
        b"{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\"}],\"usage\":{\"input\":18446744073709551615,\"cacheRead\":1}}}",
        b"{\"type\":\"auto_retry_start\",\"attempt\":-1,\"errorMessage\":\"99999: {\"}",
        b"{\"type\":\"agent_settled\"}",
        b"Attempt x failed with status 99999999. Retrying {",
        b"timestamp=x level=ERROR message=\"stream error\" error.error=\"rate limit",
        b"timestamp=x level=ERROR message=\"stream error\" error.error=\"rate limit\"",
        b"! agent \"x\" not found. Falling back to default agent",
        b"! permission requested: auto-rejecting",
        b"error: \xe2\x82",
        b"\"",
    ];

    #[test]
    fn whatever_arrives_every_dialect_ends_with_one_verdict() {
        let mut dice = Dice::new(0x5eed);
        for (name, kind) in DialectKind::NAMES {
            for round in 0..500 {
                let clock = ZonedClock::at("2026-11-20T10:00:00Z");
                let mut parser = kind.parser();
                let mut out = Vec::new();
                for _ in 0..dice.index(40) {
                    let piece = PIECES[dice.index(PIECES.len())];
                    parser.feed(piece, &clock, &mut out);
                    parser.stderr_line(&String::from_utf8_lossy(piece), &clock, &mut out);
                }
                let exit = [None, Some(Exit::Code { code: 1 }), Some(Exit::Signal { signal: 9 })][dice.index(3)];
                parser.finish(
                    Finish {
                        exit,
                        stderr: "Error: ü",
                    },
                    &clock,
                    &mut out,
                );
                let verdicts = out
                    .iter()
                    .filter(|signal| matches!(signal, AgentSignal::TurnEnded { .. }))
                    .count();
                assert_eq!(verdicts, 1, "{name}, round {round}: {out:?}");
            }
        }
    }
}
