//! Bounds of signals and requests, which have two forms: whole, as the agent reports them, and cut, as a record has them.

use super::{
    AgentSignal, TEXT_CAP_BYTES,
    clip::{clip_middle, clip_start, cut},
};

/// The size of a record without its texts, in bytes.
const ENVELOPE_BYTES: u64 = 128;

impl AgentSignal {
    /// The agent's words to its user, if the signal has some.
    pub fn message(&self) -> Option<&str> {
        match self {
            AgentSignal::Said { text }
            | AgentSignal::TurnEnded {
                message: Some(text), ..
            } => Some(text),
            _ => None,
        }
    }

    /// Whether the signal is only shown live and has no effect afterwards.
    pub fn is_live_text(&self) -> bool {
        matches!(
            self,
            AgentSignal::TextDelta { .. } | AgentSignal::ThoughtDelta { .. } | AgentSignal::ToolOutput { .. }
        )
    }

    /// Cuts the texts to the size allowed in a record. A final message keeps its end, where claims are. The iteration's
    /// signal log has the full texts.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let mut signal = self.clone();
        match &mut signal {
            AgentSignal::Opened { session, model } => {
                // A cut id would name another session.
                *session = session.take().filter(|session| session.0.len() <= TEXT_CAP_BYTES);
                *model = model.as_deref().map(cut);
            }
            AgentSignal::Said { text }
            | AgentSignal::Thought { text }
            | AgentSignal::FileChanged { path: text, .. }
            | AgentSignal::Retrying { why: text, .. }
            | AgentSignal::LimitHit { text, .. }
            | AgentSignal::Noted { text }
            | AgentSignal::TextDelta { text }
            | AgentSignal::ThoughtDelta { text } => *text = cut(text),
            AgentSignal::ToolStarted { call, tool, input } => {
                [call, tool, input].into_iter().for_each(|text| *text = cut(text));
            }
            AgentSignal::ToolEnded { call, tool, output, .. } => {
                [call, tool].into_iter().for_each(|text| *text = cut(text));
                *output = clip_middle(output, TEXT_CAP_BYTES);
            }
            AgentSignal::PermissionAsked { id: one, text, .. }
            | AgentSignal::QuestionAsked { id: one, text }
            | AgentSignal::Unknown { event: one, text }
            | AgentSignal::ToolOutput { call: one, text } => {
                [one, text].into_iter().for_each(|text| *text = cut(text));
            }
            AgentSignal::TurnEnded { message, .. } => {
                *message = message.as_deref().map(|message| clip_start(message, TEXT_CAP_BYTES));
            }
            AgentSignal::PermissionRequested { request } => **request = request.bounded(),
            AgentSignal::PermissionWithdrawn { id } => *id = id.bounded(),
            AgentSignal::Subagent { subagent } => **subagent = subagent.bounded(),
            AgentSignal::Usage { usage } => *usage = usage.bounded(),
            AgentSignal::Problem { .. }
            | AgentSignal::WindowUsed { .. }
            | AgentSignal::MessageAnswered { .. }
            | AgentSignal::Ended { .. } => {}
        }
        signal
    }

    /// Estimated size of a record of the signal, in bytes. Underestimates by at most the length of its numbers.
    pub fn record_bytes(&self) -> u64 {
        if let AgentSignal::PermissionRequested { request } = self {
            return ENVELOPE_BYTES + request.texts().map(escaped_bytes).sum::<u64>();
        }
        let texts: [&str; 3] = match self {
            AgentSignal::Opened { session, model } => [
                session.as_ref().map_or("", |session| &session.0),
                model.as_deref().unwrap_or_default(),
                "",
            ],
            AgentSignal::Said { text }
            | AgentSignal::Thought { text }
            | AgentSignal::TextDelta { text }
            | AgentSignal::ThoughtDelta { text }
            | AgentSignal::LimitHit { text, .. }
            | AgentSignal::Noted { text } => [text, "", ""],
            AgentSignal::Unknown { event, text } => [event, text, ""],
            AgentSignal::ToolStarted { call, tool, input } => [call, tool, input],
            AgentSignal::ToolEnded { call, tool, output, .. } => [call, tool, output],
            AgentSignal::FileChanged { path, .. } => [path, "", ""],
            AgentSignal::Retrying { why, .. } => [why, "", ""],
            AgentSignal::PermissionAsked { id, text, .. } | AgentSignal::QuestionAsked { id, text } => [id, text, ""],
            AgentSignal::Problem { problem } => [&problem.text, "", ""],
            AgentSignal::TurnEnded { message, .. } => [message.as_deref().unwrap_or_default(), "", ""],
            AgentSignal::PermissionWithdrawn { id } => [&id.0, "", ""],
            AgentSignal::Subagent { subagent } => [
                &subagent.id,
                subagent.parent.as_deref().unwrap_or_default(),
                &subagent.title,
            ],
            AgentSignal::ToolOutput { call, text } => [call, text, ""],
            AgentSignal::PermissionRequested { .. }
            | AgentSignal::Usage { .. }
            | AgentSignal::WindowUsed { .. }
            | AgentSignal::MessageAnswered { .. }
            | AgentSignal::Ended { .. } => ["", "", ""],
        };
        ENVELOPE_BYTES + texts.into_iter().map(escaped_bytes).sum::<u64>()
    }
}

/// Length of `text` as a JSON string, in bytes, without the quotes.
fn escaped_bytes(text: &str) -> u64 {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            0x20.. => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{
            AgentEvent, Choice, ClaimEvent, Event, Hint, IterationEvent, Missing, Notice, Outcome, PermissionRequest,
            Question, Record, RunEvent, SessionId, StopReason, TaskEvent, Totals,
        },
        testing::server_tool_asked,
    };

    /// A text above every limit, and six times as long in JSON.
    fn long() -> String {
        "\u{1}ü".repeat(400_000)
    }

    fn bytes(event: Event) -> usize {
        let record = Record {
            seq: u64::MAX,
            at_ms: u64::MAX,
            event,
        };
        serde_json::to_vec(&record).unwrap().len()
    }

    #[test]
    fn a_final_message_keeps_its_end_and_a_tool_both_ends_of_its_output() {
        let text = format!("first{}\nlast", "x".repeat(10_000));
        let ended = AgentSignal::TurnEnded {
            ok: true,
            message: Some(text.clone()),
        };
        let AgentSignal::TurnEnded {
            message: Some(kept), ..
        } = ended.bounded()
        else {
            panic!("a final message")
        };
        assert!(kept.len() <= TEXT_CAP_BYTES && kept.ends_with("\nlast") && kept.starts_with("[…] x"));
        let tool = AgentSignal::ToolEnded {
            call: String::new(),
            tool: String::new(),
            ok: true,
            output: text,
            duration_ms: None,
        };
        let AgentSignal::ToolEnded { output, .. } = tool.bounded() else {
            panic!("an output")
        };
        assert!(output.len() <= TEXT_CAP_BYTES && output.starts_with("firstx") && output.ends_with("\nlast"));
    }

    #[test]
    fn no_text_of_anybody_makes_a_long_record() {
        let many = vec![long(); 300];
        let problem = crate::event::Problem::said(crate::event::ProblemKind::Other, long());
        let events = [
            Event::Noticed {
                notice: Notice::warning("long", long()),
            },
            Event::Claim(ClaimEvent::Refused {
                iteration: 1,
                reasons: many
                    .iter()
                    .map(|task| Missing::TaskVanished { task: task.into() })
                    .collect(),
            }),
            Event::Run(RunEvent::Stopped {
                reason: StopReason::AgentFailed {
                    adapter: String::new(),
                    problem: problem.clone(),
                },
                hints: many.iter().map(|how| Hint::LogIn { how: how.into() }).collect(),
                totals: Totals::default(),
            }),
            Event::Task(TaskEvent::Blocked {
                iteration: 1,
                task: None,
                question: long().into(),
            }),
            Event::Iteration(IterationEvent::Ended {
                iteration: 1,
                outcome: Outcome::Failed { problem },
                exit: None,
                duration_ms: 0,
                output_bytes: 0,
            }),
        ];
        for event in events {
            // Printing the whole event would take longer than the rest of the test.
            let name = format!("{event:?}")[..20].to_owned();
            let length = bytes(event);
            assert!(length < 2 << 20, "{name}: {length} bytes");
        }
    }

    #[test]
    fn a_signal_never_takes_more_room_than_is_counted_for_it() {
        for text in [
            long(),
            "\"\\\n\t".repeat(1000),
            "plain words ".repeat(10),
            String::new(),
        ] {
            let signals = [
                AgentSignal::Said { text: text.clone() },
                AgentSignal::ToolStarted {
                    call: text.clone(),
                    tool: text.clone(),
                    input: text.clone(),
                },
                AgentSignal::Opened {
                    session: Some(SessionId(text.clone())),
                    model: Some(text),
                },
            ];
            for signal in signals {
                let signal = signal.bounded();
                let counted = signal.record_bytes();
                let event = Event::Agent(AgentEvent::Reported { iteration: 100, signal });
                let taken = bytes(event) as u64;
                assert!(taken <= counted + 128, "{taken} bytes, {counted} counted");
            }
        }
    }

    #[test]
    fn every_byte_of_a_permission_request_and_its_questions_is_counted() {
        let counted = |request: &PermissionRequest| {
            let request = Box::new(request.clone());
            AgentSignal::PermissionRequested { request }.record_bytes()
        };
        let brief = server_tool_asked("mcp__docs__search");
        let explained = PermissionRequest {
            reason: Some("It is needed.".to_owned()),
            ..brief.clone()
        };
        assert_eq!(counted(&explained), counted(&brief) + 13);
        let asking = PermissionRequest {
            questions: vec![Question {
                text: "Which colour?".to_owned(),
                choices: vec![Choice {
                    label: "red".to_owned(),
                    description: "like fire".to_owned(),
                }],
                ..Question::default()
            }],
            ..brief.clone()
        };
        assert_eq!(counted(&asking), counted(&brief) + 13 + 3 + 9);
    }

    #[test]
    fn the_words_of_an_agent_to_its_user_are_what_it_said_and_its_final_message() {
        let text = || "All tests pass.".to_owned();
        let ended = |message| AgentSignal::TurnEnded { ok: true, message };
        for (signal, message) in [
            (AgentSignal::Said { text: text() }, Some("All tests pass.")),
            (ended(Some(text())), Some("All tests pass.")),
            (ended(None), None),
            (AgentSignal::Thought { text: text() }, None),
            (AgentSignal::TextDelta { text: text() }, None),
        ] {
            assert_eq!(signal.message(), message, "{signal:?}");
        }
    }

    #[test]
    fn only_pieces_of_what_is_being_written_are_live_text() {
        let text = || "pie".to_owned();
        let call = text();
        for live in [
            AgentSignal::TextDelta { text: text() },
            AgentSignal::ThoughtDelta { text: text() },
            AgentSignal::ToolOutput { call, text: text() },
        ] {
            assert!(live.is_live_text(), "{live:?}");
        }
        for whole in [
            AgentSignal::Said { text: text() },
            AgentSignal::Thought { text: text() },
            AgentSignal::Noted { text: text() },
            AgentSignal::Unknown {
                event: text(),
                text: text(),
            },
        ] {
            assert!(!whole.is_live_text(), "{whole:?}");
        }
    }
}
