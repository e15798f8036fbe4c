//! The verdict on a turn. Pure.

use ralph_core::event::{Problem, ProblemKind};

use crate::dialect::one_line;

use super::messages::TurnMessages;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnVerdict {
    pub(super) ok: bool,
    /// The error of a failed turn, or the denied permissions of a successful one.
    pub(super) problem: Option<Problem>,
    /// The last message of the assistant.
    pub(super) message: Option<String>,
}

impl TurnVerdict {
    /// Judges a finished turn by the error after which nothing more was done, the denied permissions, and the reason
    /// why the last message ended.
    pub(super) fn from_messages(messages: &TurnMessages, error: Option<&Problem>, denied: &[String]) -> Self {
        let problem = |kind, text| Some(Problem::said(kind, text));
        let without = denied.join(", ");
        let (ok, problem) = match (error, messages.last_reason()) {
            (Some(error), _) => (false, Some(error.clone())),
            (None, Some("stop")) if denied.is_empty() => (true, None),
            (None, Some("stop")) => (true, problem(ProblemKind::PermissionDenied, without)),
            // A permission refused without a message ends the turn after the step that requested it.
            (None, _) if !denied.is_empty() => (false, problem(ProblemKind::PermissionDenied, without)),
            (None, Some("tool-calls") | None) => {
                let text = "the server ended the turn before it was finished".to_owned();
                (false, problem(ProblemKind::Crashed, text))
            }
            (None, Some(reason)) => {
                let text = format!("the model stopped before it was done ({})", one_line(reason));
                (false, problem(ProblemKind::Other, text))
            }
        };
        Self {
            ok,
            problem,
            message: messages.last_text(),
        }
    }
}
