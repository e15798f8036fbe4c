//! Claim and evidence: is the work done?
//!
//! An agent only claims. Evidence is what ralph found itself: the plan re-read from disk, tasks that are still in it, and
//! the goals. The confidence says how much of it there is; it never replaces a piece that is missing.

use crate::event::{
    Bite, Changes, Claim, ConfidencePart, Denial, Evidence, GoalResult, Missing, MutantOutcome, MutantTarget, Outcome,
    PlanSnapshot, Proof, StopReason, TestCounts, TriedMutant,
};

use super::state::LoopState;

/// Most bytes of a failing goal's output that go into the next prompt.
const TAIL_BYTES: usize = 2048;

/// So many changes that all were missed show that tests notice nothing.
const MUTANTS_ENOUGH: usize = 3;

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
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    NoClaim,
    Refused(Refused),
    Done { proof: Proof, confidence: Confidence },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) reasons: Vec<Missing>,
    pub(super) confidence: Confidence,
}

/// How much speaks for a claim, in parts that add up to at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Confidence {
    pub(super) parts: Vec<ConfidencePart>,
}

impl Confidence {
    fn add(&mut self, points: u8, evidence: Evidence) {
        self.parts.push(ConfidencePart { evidence, points });
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
    reasons.extend(goal_reasons(&state.view.iterations.latest_look().goals));
    reasons.extend(test_reasons(state));
    // Only ever met where something cheaper was missing, too, or the run is stopping.
    if state.view.iterations.latest_look().goals.len() < state.view.settings.goals.len() {
        reasons.push(Missing::GoalsNotRun);
    }
    let confidence = confidence(state);
    if reasons.is_empty() && confidence.points() < state.view.settings.completion.min_confidence {
        reasons.push(too_little(state, &confidence));
    }
    if reasons.is_empty() {
        let proof = proof(state);
        return Verdict::Done { proof, confidence };
    }
    // The user is asked once all else is done.
    if state.view.changed_tests.why.is_some() && reasons.iter().all(Missing::may_be_confirmed) {
        let proof = Proof::Unconfirmed;
        return Verdict::Done { proof, confidence };
    }
    Verdict::Refused(Refused { reasons, confidence })
}

/// The agent claimed something, or the plan speaks for itself.
fn claimed(state: &LoopState, outcome: &Outcome) -> bool {
    // A session that was cut off may have ticked the last box before its work was finished. One more iteration looks at
    // it; after that the boxes are believed.
    let boxes = state.view.plan.is_complete() && (*outcome == Outcome::Completed || state.rules.complete_streak > 1);
    boxes || is_explicit(state)
}

/// The agent said that it is done, in one way or another.
fn is_explicit(state: &LoopState) -> bool {
    state
        .view
        .iterations
        .latest_look()
        .claims
        .iter()
        .any(|claim| *claim != Claim::PlanComplete)
}

/// There is something that can speak for a claim besides the agent's word.
fn has_evidence(state: &LoopState) -> bool {
    !state.view.plan.tasks.is_empty() || !state.view.settings.goals.is_empty()
}

/// What would make a claim that nothing speaks against believable.
fn too_little(state: &LoopState, confidence: &Confidence) -> Missing {
    if !has_evidence(state) {
        return Missing::NeedsSecondClaim;
    }
    if !is_explicit(state) {
        return Missing::NotSaid;
    }
    Missing::Confidence {
        points: confidence.points(),
        wanted: state.view.settings.completion.min_confidence,
    }
}

/// What speaks against the end without anything being run: the agent's own word, and the plan.
fn cheap_reasons(state: &LoopState) -> Vec<Missing> {
    let denial = state.view.iterations.latest_look().denied.iter().cloned();
    let denial = denial.map(|denial| match denial {
        Denial::NotDone { why } => Missing::SaidNotDone { why },
        Denial::Blocked { question } => Missing::SaidBlocked { question },
    });
    denial
        .chain(plan_reasons(&state.view.plan, &state.view.missing))
        .collect()
}

/// What a plan with `missing` tasks has against the end.
pub(super) fn plan_reasons(plan: &PlanSnapshot, missing: &[String]) -> impl Iterator<Item = Missing> {
    let open = plan.current().map(|task| Missing::TasksOpen {
        open: u32::try_from(plan.open()).unwrap_or(u32::MAX),
        next: task.text.clone(),
    });
    let vanished = missing.iter().cloned();
    open.into_iter()
        .chain(vanished.map(|task| Missing::TaskVanished { task }))
}

/// The goal results that block completion.
pub fn goal_reasons(goals: &[GoalResult]) -> impl Iterator<Item = Missing> {
    goals.iter().filter(|goal| !goal.passed).map(goal_failed)
}

fn goal_failed(goal: &GoalResult) -> Missing {
    Missing::GoalFailed {
        goal: goal.name.clone(),
        why: goal.why.clone(),
        output_tail: output_tail(goal),
    }
}

/// The end of what a goal printed, as much as fits into a prompt.
fn output_tail(goal: &GoalResult) -> String {
    let mut start = goal.tail.len().saturating_sub(TAIL_BYTES);
    while !goal.tail.is_char_boundary(start) {
        start += 1;
    }
    goal.tail[start..].trim().to_owned()
}

/// The end of a run whose claim was accepted with such a proof.
pub(super) fn done(state: &LoopState, proof: Proof) -> StopReason {
    let required = state.view.settings.gate.require;
    StopReason::Done { proof, required }
}

/// The proof that passing goals give.
fn proof(state: &LoopState) -> Proof {
    let view = &state.view;
    let look = view.iterations.latest_look();
    // A run without tasks that changed nothing proves nothing: whatever passes, passed before.
    let is_untouched = view.plan.tasks.is_empty() && view.changes == Some(Changes::default());
    if look.goals.is_empty() || is_untouched {
        return Proof::Nothing;
    }
    let mut tests = look.goals.iter().filter_map(|goal| goal.tests.as_ref());
    let has_tests = tests.any(TestCounts::all_passed);
    if has_tests { Proof::Tests } else { Proof::ExitCodes }
}

/// The reasons that block completion although the goals pass: tests are fewer, pass only as changed, or notice nothing.
fn test_reasons(state: &LoopState) -> Vec<Missing> {
    let look = state.view.iterations.latest_look();
    let mut reasons: Vec<Missing> = look
        .goals
        .iter()
        .filter(|goal| goal.passed)
        .filter_map(|goal| count_reason(state, goal))
        .collect();
    if let Some(trial) = &look.trial {
        let changes = &trial.changes;
        if let Some(why) = &trial.problem {
            let (why, changes) = (why.clone(), changes.clone());
            reasons.push(Missing::NoTrial { why, changes });
        }
        let failed = |goal: &&GoalResult| !goal.passed || count_reason(state, goal).is_some();
        let failed = trial.results.iter().filter(failed);
        reasons.extend(failed.map(|goal| Missing::OriginalTestsFail {
            goal: goal.name.clone(),
            why: goal.why.clone(),
            output_tail: output_tail(goal),
            changes: changes.clone(),
        }));
    }
    reasons.extend(bite_reason(state));
    reasons
}

/// Why the tests that a goal ran do not count, by their numbers.
fn count_reason(state: &LoopState, goal: &GoalResult) -> Option<Missing> {
    let name = goal.name.clone();
    if let Some(why) = &goal.doubt {
        let why = why.clone();
        return Some(Missing::DoubtfulTests { goal: name, why });
    }
    let known = state.view.goals.iter().find(|known| known.name == goal.name)?;
    let before = known.baseline.as_ref().filter(|before| before.ran() > 0)?;
    let is_fewer = match &goal.tests {
        Some(now) => now.ran() < before.ran() || now.unmeasured() > before.unmeasured(),
        None => true,
    };
    is_fewer.then(|| Missing::FewerTests {
        goal: name,
        before: before.clone(),
        now: goal.tests.clone(),
    })
}

/// Tests that notice nothing, if that refuses a claim.
fn bite_reason(state: &LoopState) -> Option<Missing> {
    let bite = state.view.settings.gate.bite;
    let tried = &state.view.iterations.latest_look().mutants;
    let tried = tried.iter().filter(|tried| tried.outcome != MutantOutcome::NoVerdict);
    let (tests, work): (Vec<_>, Vec<_>) = tried.partition(|tried| tried.mutant.target == MutantTarget::Test);
    let missed = |mutants: &[&TriedMutant], enough: usize| {
        let all_missed = mutants.iter().all(|tried| tried.outcome == MutantOutcome::Missed);
        (mutants.len() >= enough && all_missed).then(|| mutants.iter().map(|tried| tried.mutant.clone()).collect())
    };
    let mutants = match bite {
        Bite::Off | Bite::Report => None,
        // Tests need not cover all that was changed: messages, logging, what no one asked for.
        Bite::Refuse => missed(&tests, MUTANTS_ENOUGH),
        Bite::Require => missed(&tests, 1).or_else(|| missed(&work, 1)),
    }?;
    Some(Missing::TestsNoticeNothing { mutants })
}

fn confidence(state: &LoopState) -> Confidence {
    let mut confidence = Confidence::default();
    if is_explicit(state) {
        confidence.add(WORD, Evidence::AgentsWord);
    }
    if state.view.plan.is_complete() && state.view.missing.is_empty() {
        confidence.add(TASKS, Evidence::TasksTicked);
    }
    if !state.view.iterations.latest_look().goals.is_empty()
        && state.view.iterations.latest_look().goals.iter().all(|goal| goal.passed)
    {
        confidence.add(GOALS, Evidence::GoalsPassed);
    }
    if is_explicit(state) && state.rules.claimed_before && !has_evidence(state) {
        confidence.add(WORD_AGAIN, Evidence::AgentsWordAgain);
    }
    confidence
}
