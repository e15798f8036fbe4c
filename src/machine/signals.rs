//! What an agent's signals change in the state.

use crate::event::{AgentSignal, Exit, Problem, ProblemKind, SessionMode};

use super::{
    budget::{Weight, is_getting_on},
    state::LoopState,
};

impl LoopState {
    /// Tells what of `signal` the state is made of, before it is applied.
    pub(super) fn weight_of(&self, signal: &AgentSignal) -> Weight {
        let waits = self.holdup.is_some() || self.refusals > 0;
        let is_needed = match signal {
            AgentSignal::Retrying { why, kind, .. } => {
                let same = match (&self.holdup, kind) {
                    (Some(holdup), Some(kind)) => holdup.kind == *kind && holdup.text == *why,
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                };
                !same || self.refusals > 0 || *kind == Some(ProblemKind::Auth)
            }
            AgentSignal::Unknown { .. } => false,
            signal if is_getting_on(signal) => waits,
            _ => true,
        };
        if is_needed { Weight::Needed } else { Weight::Detail }
    }

    pub(super) fn apply_signal(&mut self, signal: &AgentSignal) {
        self.budget.take(signal, self.weight_of(signal));
        match signal {
            AgentSignal::Opened { session, .. } => {
                if self.settings.session == SessionMode::Resume {
                    self.session.clone_from(session);
                }
            }
            AgentSignal::Usage { usage } => self.usage = self.usage.plus(*usage),
            AgentSignal::Problem { problem } => self.problem = Some(problem.clone()),
            AgentSignal::TurnEnded { ok, .. } => self.verdict = Some(*ok),
            AgentSignal::Retrying { why, kind, .. } => {
                self.refusals = match kind {
                    Some(ProblemKind::Auth) => self.refusals + 1,
                    Some(_) | None => 0,
                };
                self.holdup = kind.map(|kind| Problem {
                    kind,
                    text: why.clone(),
                });
            }
            AgentSignal::Said { .. }
            | AgentSignal::Thought { .. }
            | AgentSignal::ToolStarted { .. }
            | AgentSignal::ToolEnded { .. }
            | AgentSignal::FileChanged { .. } => {
                self.holdup = None;
                self.refusals = 0;
            }
            AgentSignal::QuestionAsked { text, .. } => self.asked = Some(text.clone()),
            AgentSignal::LimitHit { .. }
            | AgentSignal::PermissionAsked { .. }
            | AgentSignal::Unknown { .. }
            | AgentSignal::MessageAnswered { .. }
            | AgentSignal::Ended { .. } => {}
        }
    }
}

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
