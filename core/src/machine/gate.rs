//! The gate: weighs a claim against evidence to decide whether the work is done.
//!
//! An agent only claims. Evidence is what ralph establishes itself: the plan re-read from disk, the tasks that are
//! still in it, and the results of the goals. The confidence measures the amount of evidence; it never replaces missing
//! evidence.

use crate::event::{
    Bite, Changes, Claim, ConfidencePart, Denial, Evidence, Goal, GoalResult, KnownFailures, Missing, MutantOutcome,
    MutantTarget, Outcome, PlanSnapshot, Proof, StopReason, Tail, TestCounts, Text, TriedMutant,
};

use super::state::LoopState;

/// Maximum size of a failing goal's output in the next prompt, in bytes.
const TAIL_BYTES: usize = 2048;

/// Number of mutants that all have to be missed before tests count as detecting nothing.
const MUTANTS_ENOUGH: usize = 3;

/// Number of altered expectations in tests of the work that may not be missed. Of 161 in real commits, two were, neither in a
/// test that runs: one alone may be chance.
const MISSED_OF_WORK: usize = 2;

/// The points for each piece of evidence.
const WORD: u8 = 10;
const WORD_AGAIN: u8 = 40;
const TASKS: u8 = 50;
const GOALS: u8 = 40;

/// The maximum confidence that a claim can reach.
pub fn reachable_confidence(has_tasks: bool, has_goals: bool) -> u8 {
    match (has_tasks, has_goals) {
        (true, true) => WORD + TASKS + GOALS,
        (true, false) => WORD + TASKS,
        (false, true) => WORD + GOALS,
        (false, false) => WORD + WORD_AGAIN,
    }
}

/// The gate's verdict on an iteration.
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

/// The confidence in a claim, in parts that add up to at most 100.
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

/// The goals that a verification runs: those of the plan, and the checks of all tasks once every task is done.
pub(super) fn goals_due(state: &LoopState) -> impl Iterator<Item = &Goal> {
    let is_complete = state.view.is_plan_complete();
    let goals = state.view.settings.goals.iter();
    goals.filter(move |goal| goal.task.is_none() || is_complete)
}

/// The checks that failed since the tasks were ticked.
pub(super) fn failed_checks(state: &LoopState) -> impl Iterator<Item = &GoalResult> {
    let settings = &state.view.settings;
    let is_check = |name: &str| {
        let goal = settings.goals.iter().find(|goal| goal.name == name);
        goal.is_some_and(|goal| goal.task.is_some())
    };
    let results = &state.view.iterations.latest_assessment().goals;
    results
        .iter()
        .filter(move |result| !result.passed && is_check(&result.name))
}

/// The ticks of this iteration that do not count because of files outside of the tasks' scopes.
pub(super) fn scope_reasons(state: &LoopState) -> impl Iterator<Item = Missing> {
    state.internal.scopes.reasons(state.view.iterations.number)
}

/// Whether goals have to be run to judge the claims of this iteration. Not needed while cheaper evidence is missing.
pub(super) fn wants_goals(state: &LoopState, outcome: &Outcome) -> bool {
    claimed(state, outcome) && cheap_reasons(state).is_empty()
}

/// Judges the claims of an iteration; `state` has the plan and the results of the goals after it.
pub(super) fn judge(state: &LoopState, outcome: &Outcome) -> Verdict {
    if !claimed(state, outcome) {
        return Verdict::NoClaim;
    }
    let mut reasons = cheap_reasons(state);
    // The reason against a tick says more than the task that is open because of it.
    let held = failed_checks(state).count() + scope_reasons(state).count();
    reasons.retain(|reason| !matches!(reason, Missing::TasksOpen { open, .. } if *open as usize <= held));
    reasons.extend(scope_reasons(state));
    reasons.extend(goal_reasons(&state.view.iterations.latest_assessment().goals));
    reasons.extend(test_reasons(state));
    // Happens only if cheaper evidence is missing as well, or if the run is stopping.
    if state.view.iterations.latest_assessment().goals.len() < goals_due(state).count() {
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
    // The user is asked once everything else is done.
    if state.view.changed_tests.why.is_some() && reasons.iter().all(Missing::may_be_confirmed) {
        let proof = Proof::Unconfirmed;
        return Verdict::Done { proof, confidence };
    }
    Verdict::Refused(Refused { reasons, confidence })
}

/// Whether the agent claimed completion, or the boxes of the plan count as a claim.
fn claimed(state: &LoopState, outcome: &Outcome) -> bool {
    // An interrupted session may have ticked the last box before its work was finished. The boxes count after one more
    // iteration.
    let boxes = is_worked_off(state) && (*outcome == Outcome::Completed || state.internal.complete_streak > 1);
    boxes || is_explicit(state)
}

/// Whether every task is done, but for those that the user has set aside, and optional ones that are set aside. A task that
/// an agent removed while it was open is not done.
pub(super) fn is_worked_off(state: &LoopState) -> bool {
    let plan = &state.view.plan;
    let is_complete = state.view.is_plan_complete() && state.view.missing.is_empty();
    is_complete && (plan.open() == 0 || plan.current_except(&state.view.set_aside()).is_none())
}

/// Whether the agent itself said that it is done.
fn is_explicit(state: &LoopState) -> bool {
    state
        .view
        .iterations
        .latest_assessment()
        .claims
        .iter()
        .any(|claim| *claim != Claim::PlanComplete)
}

/// Whether anything other than the agent's word can support a claim.
fn has_evidence(state: &LoopState) -> bool {
    !state.view.plan.tasks.is_empty() || !state.view.settings.goals.is_empty()
}

/// The reason to refuse a claim with too little confidence.
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

/// The reasons against completion that need no goals: the agent's own word, and the plan.
fn cheap_reasons(state: &LoopState) -> Vec<Missing> {
    let denial = state.view.iterations.latest_assessment().denied.iter().cloned();
    let denial = denial.map(|denial| match denial {
        Denial::NotDone { why } => Missing::SaidNotDone { why },
        Denial::Blocked { question } => Missing::SaidBlocked { question },
    });
    denial
        .chain(state.view.comments.reasons())
        .chain(plan_reasons(
            &state.view.plan,
            &state.view.missing,
            &state.view.left_out(),
        ))
        .collect()
}

/// The reasons against completion in a plan from which the `missing` tasks were removed, and of which the user has set
/// the tasks `left_out` aside.
pub(super) fn plan_reasons(
    plan: &PlanSnapshot,
    missing: &[String],
    left_out: &[String],
) -> impl Iterator<Item = Missing> {
    let open = plan.first_required(left_out).map(|task| Missing::TasksOpen {
        open: u32::try_from(plan.open_required(left_out)).unwrap_or(u32::MAX),
        next: task.text.clone().into(),
    });
    let vanished = missing.iter().cloned();
    open.into_iter()
        .chain(vanished.map(|task| Missing::TaskVanished { task: task.into() }))
}

/// The agent's reason for leaving the lines of a comment, if nothing but the user's word on such reasons is missing.
pub(super) fn awaits_resolution(state: &LoopState, reasons: &[Missing]) -> Option<Text> {
    let is_for_user = |reason: &Missing| match reason {
        Missing::CommentOpen { answered, .. } => *answered,
        // Goals are not run while a comment is open.
        reason => *reason == Missing::GoalsNotRun,
    };
    let question = state.view.comments.question()?;
    reasons.iter().all(is_for_user).then(|| question.into())
}

/// The goal results that block completion.
pub fn goal_reasons<'a>(goals: impl IntoIterator<Item = &'a GoalResult>) -> impl Iterator<Item = Missing> {
    goals.into_iter().filter(|goal| !goal.passed).map(goal_failed)
}

fn goal_failed(goal: &GoalResult) -> Missing {
    Missing::GoalFailed {
        goal: goal.name.clone().into(),
        why: goal.why.clone(),
        output_tail: output_tail(goal),
    }
}

/// The end of a goal's output, cut to fit into a prompt.
fn output_tail(goal: &GoalResult) -> Tail {
    let mut start = goal.tail.len().saturating_sub(TAIL_BYTES);
    while !goal.tail.is_char_boundary(start) {
        start += 1;
    }
    goal.tail[start..].trim().into()
}

/// The end of a run whose claim was accepted with `proof`.
pub(super) fn done(state: &LoopState, proof: Proof) -> StopReason {
    let required = state.view.settings.gate.require;
    let unread: Vec<u32> = state.view.unread.lines.iter().map(|unread| unread.line).collect();
    StopReason::Done {
        proof,
        required,
        unread: unread.into(),
    }
}

/// The proof that the passing goals provide.
fn proof(state: &LoopState) -> Proof {
    let view = &state.view;
    let look = view.iterations.latest_assessment();
    // A run without tasks that changed nothing proves nothing: the goals would have passed before, too.
    let is_untouched = view.plan.tasks.is_empty() && view.changes == Some(Changes::default());
    if look.goals.is_empty() || is_untouched {
        return Proof::Nothing;
    }
    let counts = |goal: &GoalResult| {
        let tests = goal.tests.as_ref();
        tests.is_some_and(|tests| tests.all_passed() || goal.is_forgiven())
    };
    let has_tests = look.goals.iter().any(counts);
    if has_tests { Proof::Tests } else { Proof::ExitCodes }
}

/// The reasons that block completion although the goals pass: fewer tests ran, they pass only as changed, or they
/// detect nothing.
fn test_reasons(state: &LoopState) -> Vec<Missing> {
    let look = state.view.iterations.latest_assessment();
    let mut reasons: Vec<Missing> = look
        .goals
        .iter()
        .filter(|goal| goal.passed)
        .filter_map(|goal| count_reason(state, goal, false).filter(|_| !originals_run_as_before(state, goal)))
        .collect();
    if let Some(trial) = &look.trial {
        let changes = &trial.changes;
        if let Some(why) = &trial.problem {
            let (why, changes) = (why.clone(), changes.clone());
            reasons.push(Missing::NoTrial { why, changes });
        }
        let failed = |goal: &&GoalResult| !goal.passed || !runs_originals(state, goal);
        // Without changes, the results with new tests have told the reason.
        let failed = trial.results.iter().filter(failed).filter(|_| !changes.is_empty());
        reasons.extend(failed.map(|goal| Missing::OriginalTestsFail {
            goal: goal.name.clone().into(),
            why: goal.why.clone(),
            output_tail: output_tail(goal),
            changes: changes.clone(),
        }));
    }
    reasons.extend(bite_reasons(state));
    reasons
}

/// Whether a goal fails only by tests that failed before the run.
pub(super) fn fails_as_at_start(state: &LoopState, goal: &GoalResult) -> bool {
    let at_start = state.view.iterations.at_start.goal(&goal.name);
    let failed_before = at_start.map(|before| &before.failed_tests[..]).unwrap_or_default();
    let names = &goal.failed_tests;
    let counted = goal.tests.as_ref().map_or(0, |tests| tests.failed as usize);
    !goal.passed
        && state.view.settings.gate.known_failures == KnownFailures::Block
        && !names.is_empty()
        && names.len() == counted
        && names.iter().all(|name| failed_before.contains(name))
}

/// Why the test counts of a goal are not accepted. Those of the original tests alone may have skipped tests that the first run
/// did not reach, as many runners end at a failure; the tests that failed then must show that they run.
fn count_reason(state: &LoopState, goal: &GoalResult, are_originals: bool) -> Option<Missing> {
    let name = Text::from(&goal.name);
    if let Some(why) = &goal.doubt {
        let why = why.clone();
        return Some(Missing::DoubtfulTests { goal: name, why });
    }
    let known = state.view.goals.iter().find(|known| known.name == goal.name)?;
    let before = known.baseline.as_ref().filter(|before| before.ran() > 0)?;
    let at_start = state.view.iterations.at_start.goal(&goal.name);
    let mutants = &state.view.iterations.latest_assessment().mutants;
    let of_work = mutants
        .iter()
        .filter(|tried| tried.mutant.target == MutantTarget::WorkTest);
    let has_outcome = |outcome: MutantOutcome| of_work.clone().any(|tried| tried.outcome == outcome);
    let all_run = has_outcome(MutantOutcome::Noticed) && !has_outcome(MutantOutcome::Missed);
    let may_have_ended = are_originals && all_run && at_start.is_some_and(|at_start| !at_start.passed);
    let all = |counts: &TestCounts| counts.ran() + counts.unmeasured();
    let is_fewer = goal.tests.as_ref().is_none_or(|now| {
        let unreached = all(now).saturating_sub(all(before)) * u32::from(may_have_ended);
        let is_lost = now.ran() < before.ran() || now.unmeasured() > before.unmeasured() + unreached;
        is_lost || !goal.newly_skipped.is_empty()
    });
    is_fewer.then(|| Missing::FewerTests {
        goal: name,
        before: before.clone(),
        now: goal.tests.clone(),
    })
}

/// Whether a goal ran the original tests in a trial. The counts of a goal that was first looked at with the work include tests
/// that came with it, so then any number will do.
fn runs_originals(state: &LoopState, goal: &GoalResult) -> bool {
    let at_start = &state.view.iterations.at_start.goals;
    let was_counted = at_start
        .iter()
        .any(|known| known.name == goal.name && known.tests.is_some());
    let has_ran = |tests: &TestCounts| tests.ran() > 0;
    let shows_none = state.view.goals.iter().any(|known| {
        known.name == goal.name
            && known.baseline.as_ref().is_some_and(has_ran)
            && !goal.tests.as_ref().is_some_and(has_ran)
    });
    goal.doubt.is_none() && !shows_none && (!was_counted || count_reason(state, goal, true).is_none())
}

/// Whether the original tests of a goal were tried and run as before: what else it counts is no loss. Tests may be merged, or
/// added to be skipped.
fn originals_run_as_before(state: &LoopState, goal: &GoalResult) -> bool {
    let Some(trial) = &state.view.iterations.latest_assessment().trial else {
        return false;
    };
    let known = state.view.goals.iter().find(|known| known.name == goal.name);
    let before = known.and_then(|known| known.baseline.as_ref());
    let tried = trial.results.iter().find(|tried| tried.name == goal.name);
    // As many tests with some that are skipped beside them, or fewer and none skipped: both together are a test that is lost. So
    // is one less where some fail and are forgiven.
    let is_one_of_both = goal.tests.as_ref().zip(before).is_some_and(|(now, before)| {
        let is_merged = now.unmeasured() <= before.unmeasured() && tried.is_some_and(|tried| !tried.is_forgiven());
        now.ran() > 0 && (now.ran() >= before.ran() || is_merged)
    });
    let is_as_before = tried.is_some_and(|tried| tried.passed && runs_originals(state, tried));
    is_one_of_both && is_as_before && trial.problem.is_none() && goal.doubt.is_none() && goal.newly_skipped.is_empty()
}

/// The goals that ran fewer tests than before although those as they were pass, with both numbers: now and before.
pub(super) fn merged_tests(state: &LoopState) -> Vec<(&str, u32, u32)> {
    let goals = state.view.iterations.latest_assessment().goals.iter();
    let fewer = goals.filter_map(|goal| match count_reason(state, goal, false)? {
        Missing::FewerTests { before, now, .. } => Some((&*goal.name, now?.ran(), before.ran())),
        _ => None,
    });
    fewer.filter(|(_, now, before)| now < before).collect()
}

/// The reasons to refuse a claim because tests detect no mutants, or detect what changes nothing.
fn bite_reasons(state: &LoopState) -> Vec<Missing> {
    let bite = state.view.settings.gate.bite;
    if matches!(bite, Bite::Off | Bite::Report) {
        return Vec::new();
    }
    let tried = &state.view.iterations.latest_assessment().mutants;
    let of = |targets: &[MutantTarget], outcomes: &[MutantOutcome]| -> Vec<&TriedMutant> {
        let is_one = |tried: &&TriedMutant| targets.contains(&tried.mutant.target) && outcomes.contains(&tried.outcome);
        tried.iter().filter(is_one).collect()
    };
    let mutants = |tried: &[&TriedMutant]| tried.iter().map(|tried| tried.mutant.clone()).collect();
    let of_work = of(&[MutantTarget::WorkTest], &[MutantOutcome::Missed]);
    let all_missed = |targets: &[MutantTarget], enough: usize| {
        let with_verdict = of(targets, &[MutantOutcome::Missed, MutantOutcome::Noticed]);
        let is_missed = |tried: &&TriedMutant| tried.outcome == MutantOutcome::Missed;
        (with_verdict.len() >= enough && with_verdict.iter().all(is_missed)).then(|| mutants(&with_verdict))
    };
    let tests = [MutantTarget::Test, MutantTarget::WorkTest];
    let missed = match bite {
        _ if of_work.len() >= MISSED_OF_WORK => Some(mutants(&of_work)),
        Bite::Require => all_missed(&tests, 1)
            .or_else(|| all_missed(&[MutantTarget::Whole], 1))
            .or_else(|| all_missed(&[MutantTarget::Work], 1)),
        // Tests need not cover every change: messages, logging, unrequested work. A refactoring changes no result.
        Bite::Off | Bite::Report | Bite::Refuse => all_missed(&tests, MUTANTS_ENOUGH),
    };
    let comments = of(&[MutantTarget::Comment], &[MutantOutcome::Noticed]);
    let commented = comments.first().map(|tried| Missing::CommentNoticed {
        path: tried.mutant.path.clone(),
    });
    let missed = missed.map(|mutants| Missing::TestsNoticeNothing { mutants });
    missed.into_iter().chain(commented).collect()
}

fn confidence(state: &LoopState) -> Confidence {
    let mut confidence = Confidence::default();
    if is_explicit(state) {
        confidence.add(WORD, Evidence::AgentsWord);
    }
    if state.view.is_plan_complete() && state.view.missing.is_empty() {
        confidence.add(TASKS, Evidence::TasksTicked);
    }
    if !state.view.iterations.latest_assessment().goals.is_empty()
        && state
            .view
            .iterations
            .latest_assessment()
            .goals
            .iter()
            .all(|goal| goal.passed)
    {
        confidence.add(GOALS, Evidence::GoalsPassed);
    }
    if is_explicit(state) && state.internal.claimed_before && !has_evidence(state) {
        confidence.add(WORD_AGAIN, Evidence::AgentsWordAgain);
    }
    confidence
}
