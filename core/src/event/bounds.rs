//! Bounds of a record: every text and list that outside sources influence is cut here.
//!
//! Texts that are bounded elsewhere stay as they are: plans and references to their tasks (where the plan is read), the
//! user's messages (where they are sent), and settings (a run whose record would be too long does not start).

use super::{
    AgentSignal, Event, GoalResult, Hint, Missing, Outcome, TEXT_CAP_BYTES,
    clip::{LIST_CAP, clip_middle, clip_start, cut, listed},
    tests_run::{bounded_changes, bounded_mutants},
};

/// The size of a record without its texts, in bytes.
const ENVELOPE_BYTES: u64 = 128;

impl AgentSignal {
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
        match self {
            AgentSignal::Opened { session, model } => AgentSignal::Opened {
                // A cut id would name another session.
                session: session.clone().filter(|session| session.0.len() <= TEXT_CAP_BYTES),
                model: model.as_deref().map(cut),
            },
            AgentSignal::Said { text } => AgentSignal::Said { text: cut(text) },
            AgentSignal::Thought { text } => AgentSignal::Thought { text: cut(text) },
            AgentSignal::ToolStarted { call, tool, input } => AgentSignal::ToolStarted {
                call: cut(call),
                tool: cut(tool),
                input: cut(input),
            },
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                output,
                duration_ms,
            } => AgentSignal::ToolEnded {
                call: cut(call),
                tool: cut(tool),
                ok: *ok,
                output: clip_middle(output, TEXT_CAP_BYTES),
                duration_ms: *duration_ms,
            },
            AgentSignal::FileChanged { path, change } => AgentSignal::FileChanged {
                path: cut(path),
                change: *change,
            },
            AgentSignal::Retrying { attempt, of, why, kind } => AgentSignal::Retrying {
                attempt: *attempt,
                of: *of,
                why: cut(why),
                kind: *kind,
            },
            AgentSignal::LimitHit { kind, until_ms, text } => AgentSignal::LimitHit {
                kind: *kind,
                until_ms: *until_ms,
                text: cut(text),
            },
            AgentSignal::PermissionAsked { id, text, allowed } => AgentSignal::PermissionAsked {
                allowed: *allowed,
                id: cut(id),
                text: cut(text),
            },
            AgentSignal::QuestionAsked { id, text } => AgentSignal::QuestionAsked {
                id: cut(id),
                text: cut(text),
            },
            AgentSignal::Problem { problem } => AgentSignal::Problem {
                problem: problem.clone().bounded(),
            },
            AgentSignal::TurnEnded { ok, message } => AgentSignal::TurnEnded {
                ok: *ok,
                message: message.as_deref().map(|message| clip_start(message, TEXT_CAP_BYTES)),
            },
            AgentSignal::Unknown { text } => AgentSignal::Unknown { text: cut(text) },
            AgentSignal::PermissionRequested { request } => AgentSignal::PermissionRequested {
                request: Box::new(request.bounded()),
            },
            AgentSignal::PermissionWithdrawn { id } => AgentSignal::PermissionWithdrawn { id: id.bounded() },
            AgentSignal::TextDelta { text } => AgentSignal::TextDelta { text: cut(text) },
            AgentSignal::ThoughtDelta { text } => AgentSignal::ThoughtDelta { text: cut(text) },
            AgentSignal::ToolOutput { call, text } => AgentSignal::ToolOutput {
                call: cut(call),
                text: cut(text),
            },
            AgentSignal::Usage { .. } | AgentSignal::MessageAnswered { .. } | AgentSignal::Ended { .. } => self.clone(),
        }
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
            | AgentSignal::Unknown { text } => [text, "", ""],
            AgentSignal::ToolStarted { call, tool, input } => [call, tool, input],
            AgentSignal::ToolEnded { call, tool, output, .. } => [call, tool, output],
            AgentSignal::FileChanged { path, .. } => [path, "", ""],
            AgentSignal::Retrying { why, .. } => [why, "", ""],
            AgentSignal::PermissionAsked { id, text, .. } | AgentSignal::QuestionAsked { id, text } => [id, text, ""],
            AgentSignal::Problem { problem } => [&problem.text, "", ""],
            AgentSignal::TurnEnded { message, .. } => [message.as_deref().unwrap_or_default(), "", ""],
            AgentSignal::PermissionWithdrawn { id } => [&id.0, "", ""],
            AgentSignal::ToolOutput { call, text } => [call, text, ""],
            AgentSignal::PermissionRequested { .. }
            | AgentSignal::Usage { .. }
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

impl Event {
    /// Cuts the texts and lists to the sizes allowed in a record.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Event::Noticed { notice } => Event::Noticed {
                notice: notice.bounded(),
            },
            Event::IterationEnded {
                iteration,
                outcome: Outcome::Failed { problem },
                exit,
                duration_ms,
                output_bytes,
            } => Event::IterationEnded {
                iteration,
                outcome: Outcome::Failed {
                    problem: problem.bounded(),
                },
                exit,
                duration_ms,
                output_bytes,
            },
            Event::TaskBlocked {
                iteration,
                task,
                question,
            } => Event::TaskBlocked {
                iteration,
                task,
                question: cut(&question),
            },
            Event::GoalChecked { iteration, result } => Event::GoalChecked {
                iteration,
                result: result.bounded(),
            },
            Event::TrialMade { iteration, trial } => Event::TrialMade {
                iteration,
                trial: trial.bounded(),
            },
            Event::TestsQuestioned { iteration, ask, change } => Event::TestsQuestioned {
                iteration,
                ask,
                change: Box::new(change.bounded()),
            },
            Event::TestsConfirmed { iteration, changes, by } => Event::TestsConfirmed {
                iteration,
                changes: bounded_changes(changes),
                by: by.bounded(),
            },
            Event::MutantsTried { iteration, mutants } => Event::MutantsTried {
                iteration,
                mutants: bounded_mutants(mutants),
            },
            Event::EditsChecked {
                iteration,
                results,
                news,
                live,
            } => Event::EditsChecked {
                iteration,
                results: results.into_iter().map(GoalResult::bounded).collect(),
                news,
                live,
            },
            Event::ClaimJudged {
                iteration,
                confidence,
                mut parts,
            } => {
                parts.truncate(LIST_CAP);
                Event::ClaimJudged {
                    iteration,
                    confidence,
                    parts,
                }
            }
            Event::ClaimRefused { iteration, reasons } => Event::ClaimRefused {
                iteration,
                reasons: listed(reasons, Missing::bounded, |count| Missing::More { count }),
            },
            Event::AgentCalled { iteration, call } => Event::AgentCalled {
                iteration,
                call: call.bounded(),
            },
            Event::CompletionDenied { iteration, why } => Event::CompletionDenied {
                iteration,
                why: why.bounded(),
            },
            Event::ReviewConcluded { iteration, result } => Event::ReviewConcluded {
                iteration,
                result: result.bounded(),
            },
            Event::BreakerMoved { to, why } => Event::BreakerMoved { to, why: why.bounded() },
            Event::LiveChannelGivenUp { adapter, why } => Event::LiveChannelGivenUp {
                adapter,
                why: cut(&why),
            },
            Event::WaitStarted {
                wait,
                until_ms,
                attempt,
                why,
            } => Event::WaitStarted {
                wait,
                until_ms,
                attempt,
                why: why.bounded(),
            },
            Event::BackgroundProgressed { number, progress } => Event::BackgroundProgressed {
                number,
                progress: progress.bounded(),
            },
            Event::BackgroundEnded { number, result } => Event::BackgroundEnded {
                number,
                result: result.bounded(),
            },
            Event::RunStopped { reason, hints, totals } => Event::RunStopped {
                reason: reason.bounded(),
                hints: listed(hints, Hint::bounded, |count| Hint::More { count }),
                totals,
            },
            // Signals are large, and were already bounded where they are reported.
            Event::AgentReported { .. }
            | Event::JournalOpened { .. }
            | Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::ClockMoved { .. }
            | Event::DayBegan { .. }
            | Event::PlanRead { .. }
            | Event::PlanChanged { .. }
            | Event::PreparationStarted { .. }
            | Event::IterationStarted { .. }
            | Event::DetailsOmitted { .. }
            | Event::CancelRequested { .. }
            | Event::IterationEnded { .. }
            | Event::IterationSettled { .. }
            // Bounded when the statement is read.
            | Event::AgentStated { .. }
            | Event::ReviewRequested { .. }
            | Event::ReviewWithdrawn
            | Event::ClaimMade { .. }
            // The texts were cut together with the request.
            | Event::PermissionAsked { .. }
            | Event::PermissionWithdrawn { .. }
            | Event::PermissionDecided { .. }
            | Event::QuestionAnswered { .. }
            // An over-long command is refused.
            | Event::BackgroundStarted { .. }
            | Event::BackgroundCancelled { .. }
            // Rules are bounded where they are read.
            | Event::RulesAdded { .. }
            | Event::RuleForgotten { .. }
            | Event::PermissionModeChanged { .. }
            | Event::LimitsChanged { .. }
            | Event::PlanEdited { .. }
            // The task is a text of the plan.
            | Event::TaskSetAside { .. }
            | Event::VerificationStarted { .. }
            | Event::AdapterLimited { .. }
            | Event::WaitEnded { .. }
            | Event::Paused { .. }
            | Event::Unpaused { .. }
            | Event::Held
            | Event::SteeringQueued { .. }
            | Event::SteeringDelivered { .. }
            | Event::SteeringWithdrawn { .. }
            | Event::RunReopened { .. }
            | Event::StopRequested { .. }
            | Event::StopWithdrawn
            | Event::Unknown { .. } => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Notice, Record, SessionId, StopReason, Totals};

    /// A text above every limit, and six times as long in JSON.
    fn long() -> String {
        "\u{1}ü".repeat(400_000)
    }

    fn bytes(event: Event) -> usize {
        let record = Record {
            seq: u64::MAX,
            at_ms: u64::MAX,
            event: event.bounded(),
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
                notice: Notice::warning(long()),
            },
            Event::ClaimRefused {
                iteration: 1,
                reasons: many
                    .iter()
                    .cloned()
                    .map(|task| Missing::TaskVanished { task })
                    .collect(),
            },
            Event::RunStopped {
                reason: StopReason::AgentFailed {
                    adapter: String::new(),
                    problem: problem.clone(),
                },
                hints: many.into_iter().map(|how| Hint::LogIn { how }).collect(),
                totals: Totals::default(),
            },
            Event::TaskBlocked {
                iteration: 1,
                task: None,
                question: long(),
            },
            Event::IterationEnded {
                iteration: 1,
                outcome: Outcome::Failed { problem },
                exit: None,
                duration_ms: 0,
                output_bytes: 0,
            },
        ];
        for event in events {
            // Printing the whole event would take longer than the rest of the test.
            let event = event.bounded();
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
                let event = Event::AgentReported { iteration: 100, signal };
                let taken = bytes(event) as u64;
                assert!(taken <= counted + 128, "{taken} bytes, {counted} counted");
            }
        }
    }
}
