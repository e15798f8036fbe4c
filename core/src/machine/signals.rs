//! What an agent's signals show.

use crate::event::{AgentSignal, Exit};

/// Whether only a session that has read its prompt can have sent this. One that was opened may still break down before.
pub(super) fn has_read_prompt(signal: &AgentSignal) -> bool {
    match signal {
        AgentSignal::Said { .. }
        | AgentSignal::Thought { .. }
        | AgentSignal::ToolStarted { .. }
        | AgentSignal::ToolEnded { .. }
        | AgentSignal::FileChanged { .. }
        | AgentSignal::Usage { .. }
        | AgentSignal::PermissionAsked { .. }
        | AgentSignal::PermissionRequested { .. }
        | AgentSignal::PermissionWithdrawn { .. }
        | AgentSignal::TextDelta { .. }
        | AgentSignal::ThoughtDelta { .. }
        | AgentSignal::ToolOutput { .. }
        | AgentSignal::QuestionAsked { .. }
        | AgentSignal::TurnEnded { .. } => true,
        // It was there, whatever it did.
        AgentSignal::Ended { exit, output_bytes } => exit.is_some_and(was_there) || *output_bytes > 0,
        AgentSignal::Opened { .. }
        | AgentSignal::Retrying { .. }
        | AgentSignal::LimitHit { .. }
        | AgentSignal::Problem { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::Unknown { .. } => false,
    }
}

/// A program that a launcher did not find, or could not execute, has read nothing.
fn was_there(exit: Exit) -> bool {
    !matches!(exit, Exit::Code { code: 126 | 127 })
}
