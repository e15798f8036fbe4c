//! Claim and evidence: is the work done?
//!
//! An agent only claims. Evidence is what ralph found itself: here, the plan re-read from disk.

use crate::event::{Claim, Outcome};

use super::state::LoopState;

/// What the gate says of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    NoClaim,
    Refused(Vec<String>),
    Done,
}

/// Judges an iteration by the claims made in it; `state` holds the plan as it was re-read after it.
pub(super) fn judge(state: &LoopState, claims: &[Claim], plan_readable: bool, outcome: &Outcome) -> Verdict {
    let open = state.plan.open();
    if plan_readable && open == 0 {
        // A session that was cut off may have ticked the last box before its work was finished. One more iteration
        // looks at it; after that the boxes are believed.
        return if *outcome == Outcome::Completed || state.complete_streak > 1 {
            Verdict::Done
        } else {
            Verdict::NoClaim
        };
    }
    if claims.is_empty() {
        return Verdict::NoClaim;
    }
    let mut reasons = Vec::new();
    if !plan_readable {
        reasons.push("the plan cannot be read".to_owned());
    } else if let Some(task) = state.plan.current() {
        reasons.push(match open {
            1 => format!("one task is still open: {}", task.text),
            _ => format!("{open} tasks are still open, the next is: {}", task.text),
        });
    }
    Verdict::Refused(reasons)
}
