//! `ralph-jsonl`: ralph's own signals, one JSON object per line, for agents and wrappers in any language.

use ralph_core::event::{AgentSignal, clip, clip_start};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{CountsSubagents, StreamsText, Structured, Subagents, UsageInTurn},
    Finish, JsonDialect, JsonTurn, OUTPUT_CAP_BYTES, TEXT_CAP_BYTES, ZonedClock,
    classify::with_time,
    head,
    lines::UnknownReports,
    reset::until_in_text,
    verdict::without_verdict,
};

pub(super) const ROW: DialectRow = DialectRow {
    name: "ralph-jsonl",
    traits: &[Structured, StreamsText, UsageInTurn, Subagents, CountsSubagents],
    parser: || Box::<JsonDialect<RalphTurn>>::default(),
};

#[derive(Debug, Default)]
struct RalphTurn {
    unknown: UnknownReports,
    message: Option<String>,
    ended: bool,
}

impl JsonTurn for RalphTurn {
    fn take(&mut self, object: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let kind = object
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("without a type")
            .to_owned();
        let text = object.to_string();
        let shown = clip(&text, OUTPUT_CAP_BYTES);
        // Parsed from text, as the journal's signals are: another source would instantiate all deserialisers a second
        // time.
        let signal = match serde_json::from_slice(text.as_bytes()) {
            Ok(signal) => signal,
            Err(error) => {
                return self
                    .unknown
                    .report(&kind, || format!("not a signal: {shown}: {error}"), out);
            }
        };
        match signal {
            // Only ralph itself produces these signals.
            AgentSignal::MessageAnswered { .. }
            | AgentSignal::PermissionRequested { .. }
            | AgentSignal::PermissionWithdrawn { .. }
            | AgentSignal::Ended { .. } => {}
            AgentSignal::TurnEnded { .. } if self.ended => {
                self.unknown.report(
                    "second-turn-ended",
                    || "a second turn-ended was ignored".to_owned(),
                    out,
                );
            }
            AgentSignal::TurnEnded { ok, message } => {
                self.ended = true;
                let message = message
                    .map(|text| clip_start(&text, TEXT_CAP_BYTES))
                    .or_else(|| self.message.take());
                out.push(AgentSignal::TurnEnded { ok, message });
            }
            AgentSignal::Said { text } => {
                let said = clip_start(&text, TEXT_CAP_BYTES);
                self.message = Some(said.clone());
                out.push(AgentSignal::Said { text: said });
            }
            AgentSignal::Thought { text } => out.push(AgentSignal::Thought {
                text: clip(&text, TEXT_CAP_BYTES),
            }),
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                output,
                duration_ms,
            } => {
                out.push(AgentSignal::ToolEnded {
                    call,
                    tool,
                    ok,
                    output: head(&output),
                    duration_ms,
                });
            }
            AgentSignal::Problem { mut problem } => {
                problem.kind = with_time(problem.kind, || until_in_text(&problem.text, clock));
                out.push(AgentSignal::Problem { problem });
            }
            AgentSignal::Retrying { attempt, of, why, kind } => {
                let kind = kind.map(|kind| with_time(kind, || until_in_text(&why, clock)));
                out.push(AgentSignal::Retrying { attempt, of, why, kind });
            }
            AgentSignal::LimitHit { kind, until_ms, text } => {
                let until_ms = until_ms
                    .or(kind.limit_ends_ms())
                    .or_else(|| until_in_text(&text, clock));
                let kind = with_time(kind, || until_ms);
                out.push(AgentSignal::LimitHit { kind, until_ms, text });
            }
            signal => out.push(signal),
        }
    }

    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if !std::mem::replace(&mut self.ended, true) {
            without_verdict(finish, self.message.take(), clock, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::{Exit, Problem, ProblemKind};

    use super::{
        super::{
            DialectKind,
            recordings_tests::{RecordedSession, assert_cuts_change_nothing, assert_pieces_change_nothing, ms},
        },
        *,
    };

    fn parsed(input: &str, exit: Exit, stderr: &str) -> Vec<AgentSignal> {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        let mut out = Vec::new();
        let mut dialect = DialectKind::RalphJsonl.parser();
        dialect.feed(input.as_bytes(), &clock, &mut out);
        dialect.finish(
            Finish {
                exit: Some(exit),
                stderr,
            },
            &clock,
            &mut out,
        );
        out
    }

    const OK: Exit = Exit::Code { code: 0 };

    #[test]
    fn signals_pass_as_they_are_and_the_last_message_is_the_final_one() {
        let input = r#"{"type":"opened","session":"s1","model":null}
{"type":"said","text":"one"}
{"type":"tool-started","call":"1","tool":"shell","input":"ls"}
{"type":"said","text":"two"}
{"type":"turn-ended","ok":true}
{"type":"ended","exit":null,"outputBytes":1}"#;
        let out = parsed(input, OK, "");
        assert_eq!(out.len(), 5);
        assert_eq!(
            out[4],
            AgentSignal::TurnEnded {
                ok: true,
                message: Some("two".to_owned())
            }
        );
    }

    #[test]
    fn a_limit_without_its_end_is_read_for_one_and_an_end_that_is_told_counts() {
        let input = r#"{"type":"retrying","attempt":1,"of":2,"why":"429, retry after 60s","kind":{"kind":"rate-limited","untilMs":null}}
{"type":"limit-hit","kind":{"kind":"quota-exhausted","untilMs":null},"untilMs":null,"text":"resets 6:40pm (UTC)"}
{"type":"problem","problem":{"kind":{"kind":"rate-limited","untilMs":null},"text":"try again in 1 hour"}}
{"type":"problem","problem":{"kind":{"kind":"rate-limited","untilMs":5},"text":"try again in 1 hour"}}"#;
        let until: Vec<_> = parsed(input, OK, "")
            .into_iter()
            .filter_map(|signal| match signal {
                AgentSignal::Retrying { kind, .. } => kind?.limit_ends_ms(),
                AgentSignal::LimitHit { kind, until_ms, .. } => until_ms.filter(|_| kind.limit_ends_ms() == until_ms),
                AgentSignal::Problem { problem } => problem.kind.limit_ends_ms(),
                _ => None,
            })
            .collect();
        assert_eq!(
            until,
            [
                ms("2026-11-20T10:01:00Z"),
                ms("2026-11-20T18:40:00Z"),
                ms("2026-11-20T11:00:00Z"),
                5
            ]
        );
    }

    #[test]
    fn what_is_not_a_signal_is_said_once_per_type_and_stops_nothing() {
        let input = r#"{"type":"new-thing","a":1}
{"type":"new-thing","a":2}
{"type":"said"}
{"type":"turn-ended","ok":true,"message":"m"}
{"type":"turn-ended","ok":false,"message":null}"#;
        let out = parsed(input, OK, "");
        let unknown = out
            .iter()
            .filter(|signal| matches!(signal, AgentSignal::Unknown { .. }))
            .count();
        assert_eq!(unknown, 3, "{out:?}");
        let verdicts: Vec<_> = out
            .iter()
            .filter(|signal| matches!(signal, AgentSignal::TurnEnded { .. }))
            .collect();
        assert_eq!(
            verdicts,
            [&AgentSignal::TurnEnded {
                ok: true,
                message: Some("m".to_owned())
            }]
        );
    }

    #[test]
    fn without_a_verdict_the_session_failed_whatever_the_exit_code() {
        let out = parsed(r#"{"type":"said","text":"all done"}"#, OK, "");
        assert!(matches!(
            &out[1],
            AgentSignal::Problem {
                problem: Problem {
                    kind: ProblemKind::Crashed,
                    ..
                }
            }
        ));
        assert_eq!(
            out[2],
            AgentSignal::TurnEnded {
                ok: false,
                message: Some("all done".to_owned())
            }
        );
    }

    #[test]
    fn the_lines_in_the_specification_are_signals() {
        let specification = include_str!("../../../../docs/spec/ralph-jsonl.md");
        let quoted = specification
            .lines()
            .map(|line| line.trim().trim_start_matches("echo ").trim_matches('\''));
        let objects: Vec<_> = quoted.filter(|line| line.starts_with("{\"type\"")).collect();
        assert!(objects.len() > 8, "{objects:?}");
        for object in objects {
            serde_json::from_str::<AgentSignal>(object).unwrap_or_else(|error| panic!("{object}: {error}"));
        }
    }

    #[test]
    fn stderr_tells_why_it_failed_where_nothing_else_does() {
        let out = parsed(
            "",
            Exit::Code { code: 1 },
            "Error: unexpected status 429 Too Many Requests\n",
        );
        let kind = ProblemKind::RateLimited { until_ms: None };
        assert!(
            matches!(&out[0], AgentSignal::Problem { problem } if problem.kind == kind),
            "{out:?}"
        );
    }

    #[test]
    fn signals_cut_at_every_byte_and_in_pieces_are_the_same() {
        let input = r#"{"type":"opened","session":"s1","model":null}
{"type":"said","text":"wörds"}
{"type":"turn-ended","ok":true}"#;
        let recording = RecordedSession::made_up(input, "", OK);
        assert_cuts_change_nothing(DialectKind::RalphJsonl, &recording);
        assert_pieces_change_nothing(DialectKind::RalphJsonl, &[recording]);
    }
}
