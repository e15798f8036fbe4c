//! What the next prompt tells the agent about the session before it.

use crate::event::{CancelReason, Problem, ProblemKind};

pub(super) const CUT_OFF: &str =
    "The last session was cut off before it could finish. Look at what it left before you go on.";

/// What is to be said of a session that failed.
pub(super) fn of_failure(problem: &Problem) -> Option<String> {
    match problem.kind {
        ProblemKind::PermissionDenied => Some(format!(
            "The last session was denied a permission ({}). Find a way without it.",
            problem.text
        )),
        ProblemKind::Flood => Some(
            "The last session was ended because it reported the same kind of thing without end. Find out why, and \
             report it once."
                .to_owned(),
        ),
        ProblemKind::TurnLimit => Some("The last session ran out of turns. Go on where it stopped.".to_owned()),
        ProblemKind::ContextOverflow => {
            Some("The last session ran out of context. Work in smaller steps and read less at once.".to_owned())
        }
        ProblemKind::Overloaded
        | ProblemKind::Network
        | ProblemKind::Crashed
        | ProblemKind::Hung
        | ProblemKind::Other => Some(CUT_OFF.to_owned()),
        ProblemKind::NotInstalled
        | ProblemKind::Auth
        | ProblemKind::ModelUnknown
        | ProblemKind::Usage
        | ProblemKind::RateLimited { .. }
        | ProblemKind::QuotaExhausted { .. }
        | ProblemKind::SessionLost => None,
    }
}

/// What is to be said of a session that was ended.
pub(super) fn of_cancel(reason: CancelReason) -> Option<String> {
    match reason {
        CancelReason::IdleTimeout => Some(
            "The last session was ended because it neither wrote nor computed anything for too long. \
             Avoid commands that wait for input or never return."
                .to_owned(),
        ),
        CancelReason::IterationTimeout => {
            Some("The last session was ended at its time limit. Work in smaller steps.".to_owned())
        }
        CancelReason::Skipped | CancelReason::Steered => Some(CUT_OFF.to_owned()),
        CancelReason::LoginRefused
        | CancelReason::Flooded
        | CancelReason::MaxTime
        | CancelReason::MaxCost
        | CancelReason::MaxTokens
        | CancelReason::Stopped => None,
    }
}
