//! `terminal`: any program, without signals. The end of its output is kept in place of a message.

use std::{collections::VecDeque, sync::Arc};

use ralph_core::event::{AgentSignal, Exit, Problem, ProblemKind};
use ralph_text::PlainText;
use ralph_words::exit_in_words;

use super::{
    Dialect, DialectRow,
    DialectTrait::{StreamsText, UsageInTurn},
    Finish, LinePatterns, ZonedClock,
};

/// Most bytes and lines kept from the end of the output.
const TAIL_CAP_BYTES: usize = 64 * 1024;
const TAIL_CAP_LINES: usize = 400;

pub(super) const ROW: DialectRow = DialectRow {
    name: "terminal",
    traits: &[StreamsText, UsageInTurn],
    parser: || Box::<TerminalDialect>::default(),
};

#[derive(Debug)]
pub(super) struct TerminalDialect {
    plain: PlainText,
    tail: Tail,
    /// The adapter's patterns for the agent's output.
    patterns: Arc<LinePatterns>,
}

impl Default for TerminalDialect {
    fn default() -> Self {
        Self::with(Arc::default())
    }
}

impl TerminalDialect {
    pub(super) fn with(patterns: Arc<LinePatterns>) -> Self {
        Self {
            plain: PlainText::for_screen(),
            tail: Tail::default(),
            patterns,
        }
    }
}

impl Dialect for TerminalDialect {
    fn feed(&mut self, bytes: &[u8], _clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Self { plain, tail, patterns } = self;
        plain.feed(bytes, |line| take(line, tail, patterns, out));
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Self { plain, tail, patterns } = self;
        plain.finish(|line| take(line, tail, patterns, out));
        let lines = Vec::from(std::mem::take(&mut tail.lines));
        let last_words = patterns.last_words(&lines);
        let said = patterns.problem(last_words, clock);
        let failed = !finish.exit.is_some_and(Exit::success);
        let problem = said.or_else(|| failed.then(|| problem(finish.exit)));
        if let Some(question) = patterns.question(last_words) {
            out.push(AgentSignal::QuestionAsked {
                id: String::new(),
                text: question.to_owned(),
            });
        }
        let ok = problem.is_none();
        out.extend(problem.map(|problem| AgentSignal::Problem { problem }));
        out.push(AgentSignal::TurnEnded {
            ok,
            message: Some(patterns.message(&lines).join("\n")).filter(|text| !text.is_empty()),
        });
    }
}

/// Takes one line of output. Usage is reported at once, since a session may have many requests.
fn take(line: &str, tail: &mut Tail, patterns: &LinePatterns, out: &mut Vec<AgentSignal>) {
    tail.push(line);
    out.extend(patterns.usage(line).map(|usage| AgentSignal::Usage { usage }));
}

/// The problem of a failed program, from its exit alone: unstructured output is not classified, since it may quote
/// anything.
fn problem(exit: Option<Exit>) -> Problem {
    let (kind, text) = match exit {
        Some(exit @ Exit::Signal { .. }) => {
            let exit = exit_in_words(exit);
            (ProblemKind::Crashed, format!("the agent was ended by {exit}"))
        }
        Some(exit @ Exit::Code { .. }) => {
            let exit = exit_in_words(exit);
            (ProblemKind::Other, format!("the agent ended with {exit}"))
        }
        None => (
            ProblemKind::Crashed,
            "the agent's guard was killed, and the agent with it".to_owned(),
        ),
    };
    Problem::said(kind, text)
}

/// The last non-empty lines.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn push(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.bytes > TAIL_CAP_BYTES || self.lines.len() > TAIL_CAP_LINES {
            let dropped = self.lines.pop_front().map_or(0, |line| line.len());
            self.bytes -= dropped;
        }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            DialectKind, LinePattern,
            recordings_tests::{RecordedSession, assert_cuts_change_nothing, assert_pieces_change_nothing},
        },
        *,
    };
    use ralph_core::event::Usage;

    fn parsed(pieces: &[&[u8]], exit: Option<Exit>) -> Vec<AgentSignal> {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        let mut out = Vec::new();
        let mut dialect = TerminalDialect::default();
        for piece in pieces {
            dialect.feed(piece, &clock, &mut out);
        }
        dialect.finish(Finish { exit, stderr: "" }, &clock, &mut out);
        out
    }

    #[test]
    fn exit_code_zero_is_success_with_the_plain_tail_as_message() {
        let out = parsed(
            &[b"\x1b[32mwork", b"ing\x1b[0m\r\n\r\n<promise>x</promise>\r\n\x1b[0m"],
            Some(Exit::Code { code: 0 }),
        );
        let message = Some("working\n<promise>x</promise>".to_owned());
        assert_eq!(out, [AgentSignal::TurnEnded { ok: true, message }]);
    }

    #[test]
    fn any_other_end_is_a_failure_and_the_text_is_not_guessed_at() {
        let out = parsed(&[b"401 Unauthorized\r\n"], Some(Exit::Code { code: 3 }));
        assert!(matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Other));
        assert_eq!(
            out[1],
            AgentSignal::TurnEnded {
                ok: false,
                message: Some("401 Unauthorized".to_owned())
            }
        );
        for exit in [Some(Exit::Signal { signal: 9 }), None] {
            let out = parsed(&[], exit);
            assert!(matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Crashed));
            assert_eq!(
                out[1],
                AgentSignal::TurnEnded {
                    ok: false,
                    message: None
                }
            );
        }
    }

    fn read_with(patterns: LinePatterns, shown: &str) -> Vec<AgentSignal> {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        let mut out = Vec::new();
        let mut dialect = TerminalDialect::with(Arc::new(patterns));
        dialect.feed(shown.as_bytes(), &clock, &mut out);
        let exit = Some(Exit::Code { code: 0 });
        dialect.finish(Finish { exit, stderr: "" }, &clock, &mut out);
        out
    }

    fn pattern(text: &str) -> Option<LinePattern> {
        Some(LinePattern::new(text).expect("a pattern"))
    }

    #[test]
    fn a_refusal_that_is_only_shown_fails_the_turn_whatever_the_exit_code_is() {
        let patterns = LinePatterns {
            problems: vec![
                (
                    ProblemKind::Auth,
                    LinePattern::new("^AuthenticationError").expect("a pattern"),
                ),
                (
                    ProblemKind::RateLimited { until_ms: None },
                    LinePattern::new("^RateLimitError").expect("a pattern"),
                ),
            ],
            after: pattern("^Done with "),
            ..LinePatterns::default()
        };
        let out = read_with(
            patterns.clone(),
            "working\r\n\x1b[31mAuthenticationError: no key\x1b[0m\r\n",
        );
        assert!(
            matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == ProblemKind::Auth && problem.text == "AuthenticationError: no key"),
            "{out:?}"
        );
        assert!(matches!(&out[1], AgentSignal::TurnEnded { ok: false, .. }), "{out:?}");
        let waits = read_with(patterns.clone(), "RateLimitError: try again in 60s\r\n");
        assert!(
            matches!(&waits[0], AgentSignal::Problem { problem } if matches!(problem.kind, ProblemKind::RateLimited { until_ms: Some(_) })),
            "{waits:?}"
        );
        // The agent continued after that error, and a tool may print anything.
        let overcome = read_with(patterns, "RateLimitError: slow\r\nDone with a.txt\r\nbye\r\n");
        assert!(
            matches!(&overcome[..], [AgentSignal::TurnEnded { ok: true, .. }]),
            "{overcome:?}"
        );
    }

    #[test]
    fn usage_cost_question_and_message_are_found_in_what_is_shown() {
        let patterns = LinePatterns {
            usage: pattern(
                r"^Tokens: (?<input>\S+) sent, (?:(?<cached>\S+) cache hit, )?(?<output>[\d.,]+[kM]?) received",
            ),
            cost: pattern(r"Cost: \$(?<cost>[\d.,]+) message"),
            asks: pattern(r"\(Y/n\)"),
            message: pattern("^> "),
            ..LinePatterns::default()
        };
        let line = "Tokens: 2.3k sent, 1k cache hit, 112 received. Cost: $0.0012 message, $0.01 session.";
        let shown = format!("> first\r\n{line}\r\n> second\r\n{line}\r\nRun it? (Y/n)\r\n");
        let out = read_with(patterns, &shown);
        let usage = Usage {
            input_tokens: Some(2_300),
            cached_tokens: Some(1_000),
            output_tokens: Some(112),
            cost_usd: Some(0.0012),
            ..Usage::default()
        };
        let told = AgentSignal::Usage { usage };
        assert_eq!(out[..2], [told.clone(), told]);
        assert!(matches!(&out[2], AgentSignal::QuestionAsked { text, .. } if text == "Run it? (Y/n)"));
        assert!(
            matches!(&out[3], AgentSignal::TurnEnded { ok: true, message: Some(message) } if message.starts_with("> second\n")),
            "{out:?}"
        );
    }

    #[test]
    fn the_tail_is_bounded_and_ends_with_the_last_line() {
        let mut tail = Tail::default();
        for n in 0..100_000 {
            tail.push(&format!("line {n} {}", "x".repeat(300)));
        }
        let text = tail.text();
        assert!(text.len() <= TAIL_CAP_BYTES + TAIL_CAP_LINES);
        assert!(text.lines().last().is_some_and(|line| line.starts_with("line 99999")));
    }

    #[test]
    fn output_cut_at_every_byte_and_in_pieces_gives_the_same() {
        let output = "\x1b[1;32mwörking\x1b[0m\r\n\x1b]0;title\x07\r\n<promise>x</promise>\r\n";
        let recording = RecordedSession::made_up(output, "", Exit::Code { code: 0 });
        assert_cuts_change_nothing(DialectKind::Terminal, &recording);
        assert_pieces_change_nothing(DialectKind::Terminal, &[recording]);
    }
}
