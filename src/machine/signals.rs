//! What an agent's signals change in the state.

use crate::event::{AgentSignal, Problem, ProblemKind, SessionMode};

use super::state::LoopState;

impl LoopState {
    pub(super) fn apply_signal(&mut self, signal: &AgentSignal) {
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
