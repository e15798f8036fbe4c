//! Signals as a record may carry them.

use crate::event::{AgentSignal, Problem, TEXT_CAP_BYTES, clip};

/// The signal with its texts cut to what a record may carry; the recording has them whole.
pub(super) fn clipped(signal: &AgentSignal) -> AgentSignal {
    let cut = |text: &str| clip(text, TEXT_CAP_BYTES);
    match signal {
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
            output: cut(output),
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
        AgentSignal::PermissionAsked { id, text } => AgentSignal::PermissionAsked {
            id: cut(id),
            text: cut(text),
        },
        AgentSignal::QuestionAsked { id, text } => AgentSignal::QuestionAsked {
            id: cut(id),
            text: cut(text),
        },
        AgentSignal::Problem { problem } => AgentSignal::Problem {
            problem: Problem {
                kind: problem.kind,
                text: cut(&problem.text),
            },
        },
        AgentSignal::TurnEnded { ok, message } => AgentSignal::TurnEnded {
            ok: *ok,
            message: message.as_deref().map(cut),
        },
        AgentSignal::Unknown { text } => AgentSignal::Unknown { text: cut(text) },
        AgentSignal::Opened { .. }
        | AgentSignal::Usage { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::Ended { .. } => signal.clone(),
    }
}
