//! Feedback to the agent about the previous session, for the next prompt.

use crate::{
    event::{
        BreakerCause, BreakerState, CancelReason, Findings, LimitKind, Missing, Problem, ProblemClass, ProblemKind,
        Suspects,
    },
    limits::LimitScope,
    run::Breaker,
};

use super::reviews::ReviewSubject;

/// One item for the next prompt; `words::prompt` has the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Feedback {
    /// The session was interrupted for a reason that does not concern the agent.
    CutOff,
    PermissionDenied {
        /// The purpose of the request, in the agent's words.
        what: String,
    },
    /// The session kept reporting the same kind of data.
    Flooded,
    /// The processes of the session used more than they may.
    TooLarge {
        what: String,
    },
    TurnLimit,
    /// The session was ended at a limit of the iteration.
    Limited {
        limit: LimitKind,
    },
    ContextOverflow,
    IdleTimeout,
    IterationTimeout,
    /// The task is set aside until the user has answered.
    TaskSetAside {
        task: String,
        question: String,
    },
    /// The task reached its limit and is not worked on.
    TaskAtLimit {
        task: String,
    },
    /// The user has set the task aside.
    TaskLeftOut {
        task: String,
    },
    /// Open tasks that are no longer in the plan.
    TasksMissing {
        tasks: Vec<String>,
    },
    PlanUnreadable {
        why: String,
    },
    ClaimRefused {
        reasons: Vec<Missing>,
    },
    /// The session changed files outside of the scope of its task.
    OutOfScope {
        found: Missing,
    },
    /// The goals that failed after the last edits of the session.
    FailedAfterEdits {
        failed: Vec<Missing>,
    },
    /// A goal that passed before the iterations `by` and has failed since.
    Broken {
        by: Suspects,
        failed: Missing,
    },
    /// Comments of the user that are open.
    CommentsOpen {
        open: Vec<Missing>,
    },
    /// The agent's progress notes, latest last.
    Noted {
        notes: Vec<String>,
    },
    /// The findings of a reviewer. The agent may disagree with them.
    Reviewed {
        task: Option<String>,
        findings: Findings,
    },
    /// A state that the session left.
    Found {
        text: String,
    },
    /// The loop makes no progress.
    Stuck {
        why: BreakerCause,
    },
}

/// Maximum number of notes that are passed to the next session.
const NOTES: usize = 5;

/// Adds a progress note of the session.
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

/// Feedback about a failed session.
pub(super) fn for_failure(problem: &Problem) -> Option<Feedback> {
    match problem.kind {
        ProblemKind::PermissionDenied => Some(Feedback::PermissionDenied {
            what: problem.text.to_string(),
        }),
        ProblemKind::Flood => Some(Feedback::Flooded),
        ProblemKind::TooLarge => Some(Feedback::TooLarge {
            what: problem.text.to_string(),
        }),
        ProblemKind::TurnLimit => Some(Feedback::TurnLimit),
        ProblemKind::ContextOverflow => Some(Feedback::ContextOverflow),
        kind => match kind.class() {
            ProblemClass::Outage | ProblemClass::Failure => Some(Feedback::CutOff),
            ProblemClass::Setup
            | ProblemClass::Limit { .. }
            | ProblemClass::Restriction
            | ProblemClass::SessionLost => None,
        },
    }
}

/// Feedback about a session that ralph ended.
pub(super) fn for_cancel(reason: CancelReason) -> Option<Feedback> {
    match reason {
        CancelReason::IdleTimeout => Some(Feedback::IdleTimeout),
        CancelReason::MaxSteps => Some(Feedback::TurnLimit),
        CancelReason::IterationTimeout => Some(Feedback::IterationTimeout),
        CancelReason::Skipped | CancelReason::Steered => Some(Feedback::CutOff),
        CancelReason::Limit(limit) if limit.row().scope == LimitScope::Day => Some(Feedback::CutOff),
        CancelReason::Limit(limit) if limit.row().scope == LimitScope::Iteration => Some(Feedback::Limited { limit }),
        _ => None,
    }
}

/// Feedback about work that a reviewer sent back.
pub(super) fn for_review(subject: &ReviewSubject) -> Feedback {
    Feedback::Reviewed {
        task: subject.task.clone(),
        findings: subject.findings.clone(),
    }
}

/// Feedback about the breaker.
pub(super) fn for_breaker(breaker: &Breaker) -> Option<Feedback> {
    match breaker.state {
        BreakerState::Closed => None,
        BreakerState::HalfOpen | BreakerState::Open => breaker.why.clone().map(|why| Feedback::Stuck { why }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{AgentCall, Event, LimitKind, Settings, UserCommand},
        machine::{
            Input, Settlement,
            testing::{self, Run},
        },
    };

    fn running() -> Run {
        let mut run = Run::begun(Settings::default());
        run.prepared(testing::preparation(testing::plan(&[("task", false)])));
        run
    }

    #[test]
    fn the_next_session_gets_the_last_five_notes() {
        let mut run = running();
        for number in 1..=7 {
            let note = format!("note {number}").into();
            let call = AgentCall::Noted { note };
            run.take(&Input::AgentCalled { iteration: 1, call });
        }
        let notes = (3..=7).map(|number| format!("note {number}")).collect();
        assert_eq!(run.state.prompt_feedback(), [Feedback::Noted { notes }]);
    }

    #[test]
    fn a_session_that_the_user_skipped_is_told_as_cut_off() {
        let mut run = running();
        run.command(UserCommand::Skip);
        run.end_session();
        run.settled(Settlement::from_plan(Ok(testing::plan(&[("task", false)])), 0.0));
        assert_eq!(run.state.prompt_feedback(), [Feedback::CutOff]);
    }

    #[test]
    fn a_session_that_ralph_ended_is_told_what_it_could_have_done_otherwise() {
        for (reason, feedback) in [
            (CancelReason::IdleTimeout, Some(Feedback::IdleTimeout)),
            (CancelReason::IterationTimeout, Some(Feedback::IterationTimeout)),
            (CancelReason::MaxSteps, Some(Feedback::TurnLimit)),
            (CancelReason::Limit(LimitKind::DayCost), Some(Feedback::CutOff)),
            (CancelReason::Stopped, None),
        ] {
            assert_eq!(for_cancel(reason), feedback, "{reason:?}");
        }
    }

    #[test]
    fn a_loop_that_makes_no_progress_is_told_so_until_the_breaker_is_closed() {
        let mut run = running();
        let why = BreakerCause::NoProgress { iterations: 3 };
        for (to, is_stuck) in [
            (BreakerState::HalfOpen, true),
            (BreakerState::Open, true),
            (BreakerState::Closed, false),
        ] {
            let why = why.clone();
            let stuck = Feedback::Stuck { why: why.clone() };
            run.state.apply_event(run.now_ms, &Event::BreakerMoved { to, why });
            assert_eq!(run.state.prompt_feedback().contains(&stuck), is_stuck, "{to:?}");
        }
    }
}
