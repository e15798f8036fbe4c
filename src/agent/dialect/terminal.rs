//! `terminal`: any program as it is. There are no messages; what it shows last is kept as if it were one.

use std::collections::VecDeque;

use crate::{
    event::{AgentSignal, Exit, Problem, ProblemKind},
    text::{Keep, PlainText},
    words::exit_in_words,
};

use super::{Clock, Dialect, Finish};

/// Most bytes and lines of the output's end that are kept.
const TAIL_CAP_BYTES: usize = 64 * 1024;
const TAIL_CAP_LINES: usize = 400;

#[derive(Debug)]
pub(super) struct Terminal {
    plain: PlainText,
    tail: Tail,
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            plain: PlainText::new(Keep::Nothing),
            tail: Tail::default(),
        }
    }
}

impl Dialect for Terminal {
    fn feed(&mut self, bytes: &[u8], _clock: &Clock, _out: &mut Vec<AgentSignal>) {
        let Self { plain, tail } = self;
        plain.feed(bytes, |line| tail.push(line));
    }

    fn finish(&mut self, finish: Finish<'_>, _clock: &Clock, out: &mut Vec<AgentSignal>) {
        let Self { plain, tail } = self;
        plain.finish(|line| tail.push(line));
        let ok = finish.exit.is_some_and(Exit::success);
        if !ok {
            out.push(AgentSignal::Problem {
                problem: problem(finish.exit),
            });
        }
        out.push(AgentSignal::TurnEnded {
            ok,
            message: Some(tail.text()).filter(|text| !text.is_empty()),
        });
    }
}

/// A program that says nothing in a form we know is not guessed at: its text may quote anything.
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

/// The last lines that are not empty.
#[derive(Debug, Default)]
pub(in crate::agent) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    pub(in crate::agent) fn push(&mut self, line: &str) {
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

    pub(in crate::agent) fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            DialectKind,
            recordings::{Recording, assert_cuts_change_nothing, assert_pieces_change_nothing},
        },
        *,
    };

    fn parsed(pieces: &[&[u8]], exit: Option<Exit>) -> Vec<AgentSignal> {
        let clock = Clock::at("2026-11-20T10:00:00Z");
        let mut out = Vec::new();
        let mut dialect = Terminal::default();
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
        let recording = Recording::made_up(output, "", Exit::Code { code: 0 });
        assert_cuts_change_nothing(DialectKind::Terminal, &recording);
        assert_pieces_change_nothing(DialectKind::Terminal, &[recording]);
    }
}
