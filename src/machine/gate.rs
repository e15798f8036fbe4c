//! Claim and evidence: is the work done?
//!
//! An agent only claims. Evidence is what ralph found itself: the plan re-read from disk, tasks that are still in it, and
//! the goals. The confidence says how much of it there is; it never replaces a piece that is missing.

use crate::event::{Claim, ConfidencePart, GoalResult, Outcome};

use super::state::LoopState;

/// Most bytes of a failing goal's output that go into the next prompt.
const TAIL_BYTES: usize = 2048;

/// What the gate says of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    NoClaim,
    Refused(Refused),
    Done { verified: bool, confidence: Confidence },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) reasons: Vec<String>,
    pub(super) confidence: Confidence,
}

/// How much speaks for a claim, in parts that add up to at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Confidence {
    pub(super) parts: Vec<ConfidencePart>,
}

impl Confidence {
    fn add(&mut self, points: u8, what: impl Into<String>) {
        self.parts.push(ConfidencePart {
            what: what.into(),
            points,
        });
    }

    pub(super) fn points(&self) -> u8 {
        self.parts
            .iter()
            .fold(0, |sum: u8, part| sum.saturating_add(part.points))
            .min(100)
    }
}

/// Tells whether goals have to be run for the claims of this iteration: not while cheaper evidence is missing.
pub(super) fn wants_goals(state: &LoopState, outcome: &Outcome) -> bool {
    claimed(state, outcome) && plan_reasons(state).is_empty()
}

/// Judges an iteration by its claims; the state holds the plan and the goals' results as they are after it.
pub(super) fn judge(state: &LoopState, outcome: &Outcome) -> Verdict {
    if !claimed(state, outcome) {
        return Verdict::NoClaim;
    }
    let mut reasons = plan_reasons(state);
    reasons.extend(state.goals.iter().filter(|goal| !goal.passed).map(goal_reason));
    // Only ever met where something cheaper was missing, too, or the run is stopping.
    if state.goals.len() < state.settings.goals.len() {
        reasons.push("the goals were not run".to_owned());
    }
    let confidence = confidence(state);
    let wanted = state.settings.completion.min_confidence;
    let has_evidence = !state.plan.tasks.is_empty() || !state.settings.goals.is_empty();
    if !has_evidence && state.settings.completion.require_dual_condition && !state.claimed_before {
        reasons.push("nothing proves it: if it is true, claim it once more at the end of the next session".to_owned());
    } else if reasons.is_empty() && confidence.points() < wanted {
        reasons.push(format!(
            "the confidence is {} and has to be {wanted}",
            confidence.points()
        ));
    }
    if reasons.is_empty() {
        let verified = !state.settings.goals.is_empty();
        return Verdict::Done { verified, confidence };
    }
    Verdict::Refused(Refused { reasons, confidence })
}

/// The agent claimed something, or the plan speaks for itself.
fn claimed(state: &LoopState, outcome: &Outcome) -> bool {
    // A session that was cut off may have ticked the last box before its work was finished. One more iteration looks at
    // it; after that the boxes are believed.
    let boxes = state.plan.is_complete() && (*outcome == Outcome::Completed || state.complete_streak > 1);
    boxes || state.claims.iter().any(|claim| *claim != Claim::PlanComplete)
}

fn plan_reasons(state: &LoopState) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(task) = state.plan.current() {
        reasons.push(match state.plan.open() {
            1 => format!("one task is still open: {}", task.text),
            open => format!("{open} tasks are still open, the next is: {}", task.text),
        });
    }
    for task in &state.missing {
        reasons.push(format!(
            "a task has vanished from the plan, put it back as it was: {task}"
        ));
    }
    reasons
}

fn goal_reason(goal: &GoalResult) -> String {
    let mut start = goal.tail.len().saturating_sub(TAIL_BYTES);
    while !goal.tail.is_char_boundary(start) {
        start += 1;
    }
    let tail = goal.tail[start..].trim();
    if tail.is_empty() {
        return format!("goal `{}` did not pass: {}", goal.name, goal.why);
    }
    format!(
        "goal `{}` did not pass: {}. It ended with:\n{tail}",
        goal.name, goal.why
    )
}

fn confidence(state: &LoopState) -> Confidence {
    let mut confidence = Confidence::default();
    let explicit = state.claims.iter().any(|claim| *claim != Claim::PlanComplete);
    if explicit {
        confidence.add(10, "the agent says so");
    }
    if state.plan.is_complete() && state.missing.is_empty() {
        confidence.add(50, "every task of the plan is ticked");
    }
    if !state.goals.is_empty() && state.goals.iter().all(|goal| goal.passed) {
        confidence.add(40, "every goal passes");
    }
    let has_evidence = !state.plan.tasks.is_empty() || !state.settings.goals.is_empty();
    if explicit && state.claimed_before && !has_evidence {
        confidence.add(40, "the agent says so in two sessions running");
    }
    confidence
}
