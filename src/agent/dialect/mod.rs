//! Parsers from what an agent writes to signals. Pure: bytes in, signals out.
//!
//! Stop 3 of the tour in ARCHITECTURE.md: from here on no code knows which agent runs.
//!
//! A dialect gives the verdict on a turn ([`AgentSignal::TurnEnded`]): an exit code alone proves nothing, since agents
//! exit with 0 without having done the work. What an agent merely quotes (in its messages, in the output of its
//! tools) is never taken for an error of its own.

mod calls;
mod classify;
mod claude;
mod clock;
mod codex;
mod fields;
mod gemini;
mod lines;
mod opencode;
mod opencode_parts;
mod ralph;
#[cfg(test)]
mod recordings;
mod reset;
mod terminal;
mod verdict;
mod wording;

use crate::event::{AgentSignal, Exit, clip};

pub(super) use calls::{path_in, short_input};
pub(super) use classify::{classify, classify_answer, from_status, one_line, repeated, with_time};
pub(super) use claude::Turn as ClaudeTurn;
pub use clock::Clock;
pub(super) use codex::{Turn as CodexTurn, UNEXPLAINED as UNEXPLAINED_BY_CODEX, attempts};
pub(super) use fields::{array, number, text};
pub(super) use lines::{Objects, Seen};
pub(super) use opencode_parts::{file_change, is_denial, problem_of, tool_ended, tool_started, usage};
pub(super) use reset::{epoch_ms, until_in_text};
pub(super) use terminal::Tail;
pub(super) use verdict::without_verdict;

/// Most bytes of one agent text in a signal; longer messages keep their end, where claims are.
pub const TEXT_CAP_BYTES: usize = 1024 * 1024;
/// Most bytes and lines of a tool's output in a signal, from its beginning; of the lines, the last says how many are missing.
pub const OUTPUT_CAP_BYTES: usize = 16 * 1024;
pub const OUTPUT_CAP_LINES: usize = 100;
/// More than the line that counts what is missing ever takes.
const COUNT_BYTES: usize = 64;

/// How a program ended, for a dialect to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish<'a> {
    /// None if its guard was killed, and the agent with it.
    pub exit: Option<Exit>,
    /// The last lines of what it wrote beside its signals, as plain text. Counts only where there is no verdict.
    pub stderr: &'a str,
}

/// A parser of one session's output.
pub trait Dialect: Send {
    /// Takes the next bytes, cut anywhere, at the time they arrive.
    fn feed(&mut self, bytes: &[u8], clock: &Clock, out: &mut Vec<AgentSignal>);
    /// Takes a line that the program wrote beside its signals, to stderr, as plain text. Anything may be in it.
    fn stderr_line(&mut self, _line: &str, _clock: &Clock, _out: &mut Vec<AgentSignal>) {}
    /// Whether the program has to be ended: its turn is over, and it would go on for ever.
    fn is_stuck(&self) -> bool {
        false
    }
    /// Takes the end. Exactly one `TurnEnded` has been given when this returns.
    fn finish(&mut self, finish: Finish<'_>, clock: &Clock, out: &mut Vec<AgentSignal>);
}

/// The dialects there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialectKind {
    /// `codex exec --json`.
    CodexJson,
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeStreamJson,
    /// `gemini --output-format stream-json`.
    GeminiStreamJson,
    /// `opencode run --format json`.
    OpencodeJson,
    /// Our own signals, one JSON object a line.
    RalphJsonl,
    /// Any program: no messages, only what it shows.
    Terminal,
}

impl DialectKind {
    /// The names that manifests use.
    pub const NAMES: [(&'static str, DialectKind); 6] = [
        ("codex-json", DialectKind::CodexJson),
        ("claude-stream-json", DialectKind::ClaudeStreamJson),
        ("gemini-stream-json", DialectKind::GeminiStreamJson),
        ("opencode-json", DialectKind::OpencodeJson),
        ("ralph-jsonl", DialectKind::RalphJsonl),
        ("terminal", DialectKind::Terminal),
    ];

    /// Whether the program writes signals to stdout, apart from what it shows a person.
    pub fn is_structured(self) -> bool {
        match self {
            DialectKind::CodexJson
            | DialectKind::ClaudeStreamJson
            | DialectKind::GeminiStreamJson
            | DialectKind::OpencodeJson
            | DialectKind::RalphJsonl => true,
            DialectKind::Terminal => false,
        }
    }

    /// Whether usage is the sum over a session unless the manifest says otherwise: so with the program that the dialect
    /// was made for.
    pub fn sums_usage(self) -> bool {
        match self {
            DialectKind::CodexJson => true,
            DialectKind::ClaudeStreamJson
            | DialectKind::GeminiStreamJson
            | DialectKind::OpencodeJson
            | DialectKind::RalphJsonl
            | DialectKind::Terminal => false,
        }
    }

    /// A parser for a new session.
    pub fn parser(self) -> Box<dyn Dialect> {
        match self {
            DialectKind::CodexJson => Box::new(codex::CodexJson::default()),
            DialectKind::ClaudeStreamJson => Box::new(claude::ClaudeStreamJson::default()),
            DialectKind::GeminiStreamJson => Box::new(gemini::GeminiStreamJson::default()),
            DialectKind::OpencodeJson => Box::new(opencode::OpencodeJson::default()),
            DialectKind::RalphJsonl => Box::new(ralph::RalphJsonl::default()),
            DialectKind::Terminal => Box::new(terminal::Terminal::default()),
        }
    }
}

/// The beginning of a tool's output. What is left out is counted here, since later stages do not see it.
pub(super) fn head(text: &str) -> String {
    let lines = text.lines().count();
    if lines <= OUTPUT_CAP_LINES && text.len() <= OUTPUT_CAP_BYTES {
        return text.to_owned();
    }
    let most = match lines {
        0..=OUTPUT_CAP_LINES => OUTPUT_CAP_LINES,
        _ => OUTPUT_CAP_LINES - 1,
    };
    let end = text.match_indices('\n').nth(most - 1).map_or(text.len(), |(at, _)| at);
    let kept = clip(&text[..end], OUTPUT_CAP_BYTES - COUNT_BYTES);
    match lines - kept.lines().count() {
        0 => kept,
        1 => format!("{kept}\n… 1 more line"),
        more => format!("{kept}\n… {more} more lines"),
    }
}

/// The end of a message: a claim is in its last lines.
pub(super) fn tail(text: &str, cap_bytes: usize) -> String {
    if text.len() <= cap_bytes {
        return text.to_owned();
    }
    let mut start = text.len() - cap_bytes;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("[…] {}", &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    /// Pieces of what agents write, and of what no agent should.
    const PIECES: [&[u8]; 40] = [
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
                let clock = Clock::at("2026-11-20T10:00:00Z");
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

    #[test]
    fn of_an_output_that_is_cut_every_line_is_there_or_counted() {
        for (lines, width) in [
            (100, 3),
            (101, 3),
            (5000, 3),
            (60, 1000),
            (99, 200),
            (100, 200),
            (101, 200),
            (1, 40_000),
            (2, 16_384),
        ] {
            for end in ["", "\n"] {
                let output = vec!["ü".repeat(width / 2); lines].join("\n") + end;
                let head = head(&output);
                assert!(
                    head.len() <= OUTPUT_CAP_BYTES && head.lines().count() <= OUTPUT_CAP_LINES,
                    "{head}"
                );
                let last = head.lines().last().unwrap();
                let more = last.strip_prefix("… ").map(|last| last.split(' ').next().unwrap());
                let (kept, more) = match more {
                    Some(more) => (head.lines().count() - 1, more.parse().unwrap()),
                    None => (head.lines().count(), 0),
                };
                assert_eq!(kept + more, lines, "{lines} of {width}: {last}");
            }
        }
    }

    #[test]
    fn long_texts_keep_the_end_that_matters() {
        let output = (0..200).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert!(head(&output).ends_with("98\n… 101 more lines"), "{}", head(&output));
        assert_eq!(head("a\nb\n"), "a\nb\n");
        assert!(tail(&format!("{}ü the end", "x".repeat(100)), 9).ends_with(" the end"));
        assert_eq!(tail("short", 9), "short");
    }
}
