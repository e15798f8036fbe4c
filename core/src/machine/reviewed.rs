//! The end of a review: the author continues with the same work, or the run goes on as it would have without the
//! review.

use crate::{
    event::{
        CancelReason, Checkpoint, Event, IterationEvent, Outcome, PlanEvent, ProblemKind, ReviewAnswer, ReviewEvent,
        ReviewResult, Role, WorkerEvent,
    },
    notices,
};

use super::{
    Settlement, comments,
    decision::StepDecision,
    gate, policy, review,
    reviews::is_repeated,
    settle::{next, repository_lost, requested, start_verification},
    state::LoopState,
};

/// Records the result of a review and decides what follows.
///
/// A reviewer's claims and ticks do not count: the plan is restored, except for changes by the user.
pub(super) fn settled(decision: &mut StepDecision, now_ms: u64, iteration: u32, outcome: &Outcome, found: &Settlement) {
    decision.told(&found.leftovers, &found.notices);
    match &found.plan {
        Ok(plan) => decision.plan_read(plan),
        Err(why) => decision.push(Event::Plan(PlanEvent::NotRead {
            why: why.clone().into(),
        })),
    }
    decision.push(Event::Iteration(IterationEvent::Settled {
        iteration,
        checkpoint: found.checkpoint.clone(),
        changes: found.changes,
        totals: None,
        progress: None,
        undone: found.undone,
        committed: None,
        elsewhere: found.elsewhere.clone(),
    }));
    if let Some(lost) = &found.lost {
        return repository_lost(decision, lost);
    }
    if *outcome == Outcome::Completed {
        comments::found(decision, iteration, &found.findings);
    }
    let claims_done = claims_done(decision);
    let concluded = conclude(decision, now_ms, iteration, outcome);
    match concluded {
        Some(Conclusion::Left) if claims_done && found.plan.is_ok() => done_after_review(decision, now_ms),
        Some(Conclusion::Left | Conclusion::SentBack) | None => next(decision, now_ms),
    }
}

/// The consequence of a finished review.
enum Conclusion {
    SentBack,
    /// The run continues, or ends, as it would have without the review.
    Left,
}

fn claims_done(decision: &StepDecision) -> bool {
    let subject = decision.state.internal.reviews.subject.as_ref();
    subject.is_some_and(|subject| subject.claims_done)
}

/// Records the conclusion of the review; `None` if it is still due.
fn conclude(decision: &mut StepDecision, now_ms: u64, iteration: u32, outcome: &Outcome) -> Option<Conclusion> {
    let has_channel = !outcome.found_no_live_channel() || give_up_live_channel(decision, outcome);
    if is_repeated(outcome) && has_channel && decision.state.internal.reviews.may_repeat() {
        return None;
    }
    let result = match outcome {
        Outcome::Cancelled {
            // The message is for the author, whose work is reviewed afterwards. A stopped run makes up for the review
            // when it is continued.
            reason: CancelReason::Steered | CancelReason::Stopped,
        } => return None,
        Outcome::Cancelled {
            reason: CancelReason::Skipped,
        } => ReviewResult::Skipped,
        Outcome::Completed => answer(decision),
        Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Interrupted => ReviewResult::Failed,
    };
    if is_limited(decision, now_ms, outcome) {
        // The reviewer will be available again and did not fail.
        decision.push(Event::Review(ReviewEvent::Withdrawn));
        return Some(Conclusion::Left);
    }
    let sent_back = matches!(result, ReviewResult::Findings { sent_back: true, .. });
    decision.push(Event::Review(ReviewEvent::Concluded { iteration, result }));
    give_up_reviewer(decision);
    Some(if sent_back {
        Conclusion::SentBack
    } else {
        Conclusion::Left
    })
}

/// Switches to the one-way channel, unless only the live channel may be used. Returns whether it switched.
fn give_up_live_channel(decision: &mut StepDecision, outcome: &Outcome) -> bool {
    let (Outcome::Failed { problem }, false) = (outcome, decision.state.view.settings.live_only) else {
        return false;
    };
    let adapter = decision.state.view.adapter.clone();
    decision.push(Event::Worker(WorkerEvent::LiveChannelGivenUp {
        adapter,
        why: problem.text.clone(),
    }));
    true
}

/// The reviewer's answer as a result.
fn answer(decision: &StepDecision) -> ReviewResult {
    let state = &decision.state;
    match state.internal.stated.review.clone() {
        None => ReviewResult::NoAnswer,
        Some(ReviewAnswer::Approved) => ReviewResult::Approved,
        Some(ReviewAnswer::Findings { findings }) => {
            let round = match state.view.role {
                Role::Review { round } => round,
                Role::Work => 1,
            };
            let review = state.view.settings.review.as_ref();
            let has_rounds = review.is_some_and(|review| round <= review.rounds);
            let sent_back = has_rounds && !is_used_up(state);
            ReviewResult::Findings { findings, sent_back }
        }
    }
}

/// Whether the task under review reached its limit, so that it is not worked on again.
fn is_used_up(state: &LoopState) -> bool {
    let subject = state.internal.reviews.subject.as_ref();
    let task = subject.and_then(|subject| subject.task.as_ref());
    let work = task.and_then(|task| state.view.iterations.work.get(task));
    work.is_some_and(|work| work.limit_reached(&state.view.settings.limits).is_some())
}

/// Whether the review failed because of a limit with a known end. The reviewer is not asked again before then.
fn is_limited(decision: &mut StepDecision, now_ms: u64, outcome: &Outcome) -> bool {
    let Outcome::Failed { problem } = outcome else {
        return false;
    };
    let (ProblemKind::RateLimited { until_ms } | ProblemKind::QuotaExhausted { until_ms }) = problem.kind else {
        return false;
    };
    let settings = &decision.state.view.settings;
    let adapter = decision.state.view.adapter.clone();
    // A limit of the reviewer's model must not make the author's adapter count as limited.
    let is_author = settings.adapter == adapter || settings.fallback.contains(&adapter);
    let Some(until_ms) = until_ms.filter(|until_ms| *until_ms > now_ms && !is_author) else {
        return false;
    };
    decision.push(Event::Worker(WorkerEvent::AdapterLimited { adapter, until_ms }));
    true
}

/// Announces, once, that reviews are off after repeated failures.
fn give_up_reviewer(decision: &mut StepDecision) {
    let reviews = decision.state.internal.reviews.failures;
    if review::is_given_up(&decision.state) {
        let adapter = decision.state.view.adapter.clone();
        decision.notice(notices::reviewer_given_up(&adapter, reviews));
    }
}

/// Completes a run after its review, if the evidence for completion still holds.
fn done_after_review(decision: &mut StepDecision, now_ms: u64) {
    if policy::undelivered(&decision.state).is_some() {
        return next(decision, now_ms);
    }
    let iterations = &decision.state.view.iterations;
    let (Some(work), Some(review)) = (iterations.latest_work(), iterations.latest()) else {
        return next(decision, now_ms);
    };
    let tree = |checkpoint: &Option<Checkpoint>| checkpoint.as_ref().map(|found| found.tree.clone());
    let (left, before, after) = (tree(&work.after), tree(&review.before), tree(&review.after));
    let is_untouched = left.is_some() && left == before && (review.undone || before == after);
    let outcome = work.outcome.clone().unwrap_or(Outcome::Completed);
    let number = work.number;
    if !is_untouched && gate::goals_due(&decision.state).next().is_some() {
        // The goals were run on other files.
        return match requested(&decision.state) {
            Some(reason) => decision.stop(reason),
            None => start_verification(decision, number),
        };
    }
    match gate::judge(&decision.state, &outcome) {
        gate::Verdict::Done { proof, .. } => decision.stop(gate::done(&decision.state, proof)),
        // A task was added to the plan meanwhile.
        gate::Verdict::Refused(_) | gate::Verdict::NoClaim => next(decision, now_ms),
    }
}
