//! What the next prompt tells the agent about the session before it.

use crate::{
    event::{BreakerCause, BreakerState, CancelReason, Findings, Missing, Problem, ProblemKind},
    run::Breaker,
};

use super::reviews::Subject;

/// One thing to tell the agent; `words::prompt` says it.
#[derive(Debug, Clone, PartialEq)]
pub enum Feedback {
    /// The session was cut off, for a reason that is no concern of the agent's.
    CutOff,
    PermissionDenied {
        /// What for, as the agent put it.
        what: String,
    },
    /// It reported the same kind of thing without end.
    Flooded,
    TurnLimit,
    ContextOverflow,
    IdleTimeout,
    IterationTimeout,
    /// Nobody works on the task until the user has answered.
    TaskSetAside {
        task: String,
        question: String,
    },
    /// The task has used up what one may: nobody works on it.
    TaskAtLimit {
        task: String,
    },
    ClaimRefused {
        reasons: Vec<Missing>,
    },
    /// What failed after the last edits of the session.
    FailedAfterEdits {
        failed: Vec<Missing>,
    },
    /// How far it said that it was, the latest last.
    Noted {
        notes: Vec<String>,
    },
    /// What a reviewer found: an opinion, which the agent may find wrong.
    Reviewed {
        task: Option<String>,
        findings: Findings,
    },
    /// The loop gets nowhere.
    Stuck {
        why: BreakerCause,
    },
}

/// Most notes of a session that the next one reads.
const NOTES: usize = 5;

/// Adds a note of the session to what is to be said of it.
pub(super) fn note(feedback: &mut Vec<Feedback>, note: &str) {
    let known = feedback.iter_mut().find_map(|known| match known {
        Feedback::Noted { notes } => Some(notes),
        _ => None,
    });
    let Some(notes) = known else {
        let notes = vec![note.to_owned()];
        return feedback.push(Feedback::Noted { notes });
    };
    if notes.len() == NOTES {
        notes.remove(0);
    }
    notes.push(note.to_owned());
}

/// What is to be said of a session that failed.
pub(super) fn of_failure(problem: &Problem) -> Option<Feedback> {
    match problem.kind {
        ProblemKind::PermissionDenied => Some(Feedback::PermissionDenied {
            what: problem.text.clone(),
        }),
        ProblemKind::Flood => Some(Feedback::Flooded),
        ProblemKind::TurnLimit => Some(Feedback::TurnLimit),
        ProblemKind::ContextOverflow => Some(Feedback::ContextOverflow),
        ProblemKind::Overloaded
        | ProblemKind::Network
        | ProblemKind::Crashed
        | ProblemKind::Hung
        | ProblemKind::Other => Some(Feedback::CutOff),
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
pub(super) fn of_cancel(reason: CancelReason) -> Option<Feedback> {
    match reason {
        CancelReason::IdleTimeout => Some(Feedback::IdleTimeout),
        CancelReason::MaxSteps => Some(Feedback::TurnLimit),
        CancelReason::IterationTimeout => Some(Feedback::IterationTimeout),
        CancelReason::Skipped | CancelReason::Steered | CancelReason::DayCost | CancelReason::DayTokens => {
            Some(Feedback::CutOff)
        }
        CancelReason::LoginRefused
        | CancelReason::Limited
        | CancelReason::Flooded
        | CancelReason::Denied
        | CancelReason::MaxTime
        | CancelReason::MaxCost
        | CancelReason::MaxTokens
        | CancelReason::TaskCost
        | CancelReason::TaskTokens
        | CancelReason::Stopped => None,
    }
}

/// What is to be said of work that a reviewer sent back.
pub(super) fn of_review(subject: &Subject) -> Feedback {
    Feedback::Reviewed {
        task: subject.task.clone(),
        findings: subject.findings.clone(),
    }
}

/// What the next prompts have to say about the breaker.
pub(super) fn of_breaker(breaker: &Breaker) -> Option<Feedback> {
    match breaker.state {
        BreakerState::Closed => None,
        BreakerState::HalfOpen | BreakerState::Open => breaker.why.clone().map(|why| Feedback::Stuck { why }),
    }
}
