//! Derives the outcome of an iteration from the end of its session.

use crate::event::{CancelReason, Exit, Finding, Outcome, Problem, ProblemKind};

use super::state::LoopState;

/// Returns the outcome of a session. The dialect's verdict counts, the exit code alone never does.
pub(super) fn outcome(state: &LoopState, cancelled: Option<CancelReason>, exit: Option<Exit>) -> Outcome {
    if let Some(reason) = cancelled {
        return match (reason, state.internal.verdict, &state.internal.pending_error) {
            // The turn had ended well and only the agent's process was slow.
            (CancelReason::IterationTimeout | CancelReason::IdleTimeout, Some(true), _) => Outcome::Completed,
            (CancelReason::LoginRefused | CancelReason::Limited, Some(true), _) => Outcome::Completed,
            (CancelReason::LoginRefused | CancelReason::Limited, _, Some(pending_error)) => Outcome::Failed {
                problem: pending_error.clone(),
            },
            // The agent did not hang: it reported what it waited for, and the loop can wait for that itself.
            (CancelReason::IdleTimeout, _, Some(pending_error)) => Outcome::Failed {
                problem: Problem {
                    finding: Some(Finding::Idle),
                    ..pending_error.clone()
                },
            },
            (CancelReason::Flooded, _, _) => Outcome::Failed {
                problem: Problem::found(ProblemKind::Flood, Finding::Flooded),
            },
            (reason, _, _) => Outcome::Cancelled { reason },
        };
    }
    match (state.internal.verdict, &state.internal.problem) {
        (Some(true), _) => Outcome::Completed,
        (Some(false) | None, Some(problem)) => Outcome::Failed {
            problem: Problem {
                finding: problem.finding.filter(|finding| !is_disproved(state, *finding)),
                ..problem.clone()
            },
        },
        (Some(false) | None, None) => Outcome::Failed {
            problem: Problem::found(ProblemKind::Crashed, Finding::NoResult { exit }),
        },
    }
}

/// Whether this run disproves the finding: an iteration that completed on the live channel shows that the channel
/// exists.
fn is_disproved(state: &LoopState, finding: Finding) -> bool {
    match finding {
        Finding::NoLiveChannel => {
            let mut rows = state.view.iterations.rows.iter();
            rows.any(|row| row.adapter == state.view.adapter && row.outcome == Some(Outcome::Completed))
        }
        Finding::NoResult { .. } | Finding::Idle | Finding::Flooded | Finding::EndedByRalph { .. } => false,
    }
}
