//! Conclusions from an agent's signals.

use crate::event::{AgentSignal, Exit};

/// Whether the signal proves that the session has read its prompt. A session that was only opened may still fail before
/// that.
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
        | AgentSignal::Subagent { .. }
        | AgentSignal::TurnEnded { .. } => true,
        // The program itself ran, whatever its exit code.
        AgentSignal::Ended { exit, output_bytes } => exit.is_some_and(program_ran) || *output_bytes > 0,
        _ => false,
    }
}

/// Whether the program ran: 126 and 127 mean that a launcher could not find or execute it.
fn program_ran(exit: Exit) -> bool {
    !matches!(exit, Exit::Code { code: 126 | 127 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_ended_has_read_its_prompt_if_its_program_ran_or_wrote_anything() {
        let code = |code| Some(Exit::Code { code });
        let signal = Some(Exit::Signal { signal: 9 });
        for (exit, output_bytes, expected) in [
            (code(0), 0, true),
            (code(1), 0, true),
            (signal, 0, true),
            (code(126), 0, false),
            (code(127), 0, false),
            (None, 0, false),
            (code(127), 1, true),
            (None, 1, true),
        ] {
            let ended = AgentSignal::Ended { exit, output_bytes };
            assert_eq!(has_read_prompt(&ended), expected, "{ended:?}");
        }
    }
}
