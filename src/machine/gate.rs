//! Claim and evidence: is the work done?
//!
//! An agent only claims. Evidence is what ralph found itself: the plan re-read from disk, tasks that are still in it, and
//! the goals. The confidence says how much of it there is; it never replaces a piece that is missing.

use crate::event::{Claim, ConfidencePart, GoalResult, Outcome};

use super::state::LoopState;

/// Most bytes of a failing goal's output that go into the next prompt.
const TAIL_BYTES: usize = 2048;

/// What each piece of evidence is worth.
const WORD: u8 = 10;
const WORD_AGAIN: u8 = 40;
const TASKS: u8 = 50;
const GOALS: u8 = 40;

/// The most confidence that a claim can reach over such a plan.
pub fn reachable_confidence(has_tasks: bool, has_goals: bool) -> u8 {
    match (has_tasks, has_goals) {
        (true, true) => WORD + TASKS + GOALS,
        (true, false) => WORD + TASKS,
        (false, true) => WORD + GOALS,
        (false, false) => WORD + WORD_AGAIN,
    }
}

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
    claimed(state, outcome) && cheap_reasons(state).is_empty()
}

/// Judges an iteration by its claims; the state holds the plan and the goals' results as they are after it.
pub(super) fn judge(state: &LoopState, outcome: &Outcome) -> Verdict {
    if !claimed(state, outcome) {
        return Verdict::NoClaim;
    }
    let mut reasons = cheap_reasons(state);
    reasons.extend(state.goals.iter().filter(|goal| !goal.passed).map(goal_reason));
    // Only ever met where something cheaper was missing, too, or the run is stopping.
    if state.goals.len() < state.settings.goals.len() {
        reasons.push("the goals were not run".to_owned());
    }
    let confidence = confidence(state);
    if reasons.is_empty() && confidence.points() < state.settings.completion.min_confidence {
        reasons.push(too_little(state, &confidence));
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
    boxes || is_explicit(state)
}

/// The agent said that it is done, in one way or another.
fn is_explicit(state: &LoopState) -> bool {
    state.claims.iter().any(|claim| *claim != Claim::PlanComplete)
}

/// There is something that can speak for a claim besides the agent's word.
fn has_evidence(state: &LoopState) -> bool {
    !state.plan.tasks.is_empty() || !state.settings.goals.is_empty()
}

/// What would make a claim that nothing speaks against believable.
fn too_little(state: &LoopState, confidence: &Confidence) -> String {
    if !has_evidence(state) {
        return "nothing proves it: if it is true, claim it once more at the end of the next session".to_owned();
    }
    if !is_explicit(state) {
        return "nothing in your last message says that all is done: if it is true, end it with the promise line"
            .to_owned();
    }
    let wanted = state.settings.completion.min_confidence;
    format!("the confidence is {} and has to be {wanted}", confidence.points())
}

/// What speaks against the end without anything being run: the agent's own word, and the plan.
fn cheap_reasons(state: &LoopState) -> Vec<String> {
    let denial = state.denial.iter();
    let denial = denial.map(|why| format!("the last message said that the work is not done ({why})"));
    denial.chain(plan_reasons(state)).collect()
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
    if is_explicit(state) {
        confidence.add(WORD, "the agent says so");
    }
    if state.plan.is_complete() && state.missing.is_empty() {
        confidence.add(TASKS, "every task of the plan is ticked");
    }
    if !state.goals.is_empty() && state.goals.iter().all(|goal| goal.passed) {
        confidence.add(GOALS, "every goal passes");
    }
    if is_explicit(state) && state.claimed_before && !has_evidence(state) {
        confidence.add(WORD_AGAIN, "the agent says so in two sessions running");
    }
    confidence
}
