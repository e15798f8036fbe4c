//! Reviews: decides when another agent reviews the work.
//!
//! A review is an iteration with its own role. Its answer is advice: it sends the author back with the findings a
//! limited number of times, and nothing that a reviewer says, claims, ticks or fails to do completes a run or keeps it
//! from completing.

use crate::{
    event::{Event, Outcome, ReviewEvent, ReviewObstacle, ReviewSettings, ReviewWhen, Role, Worker},
    limits::{Consumption, LimitScope, consumption_at, day_limit_reached, reached},
};

use super::{decision::StepDecision, policy, state::LoopState};

/// Number of consecutive failed reviews after which reviews are off.
const FAILURES: u32 = 3;

/// The role of the next iteration.
pub(super) fn next_role(state: &LoopState) -> Role {
    match &state.internal.reviews.subject {
        // Messages of the user are for the author and come first.
        Some(subject) if state.internal.reviews.is_due && policy::undelivered(state).is_none() => Role::Review {
            round: subject.rounds + 1,
        },
        Some(_) | None => Role::Work,
    }
}

/// The worker for an iteration in this role that starts now.
pub(super) fn worker(state: &LoopState, role: Role, now_ms: u64) -> Worker {
    match (role, &state.view.settings.review) {
        (Role::Review { .. }, Some(review)) => review.by.clone(),
        (Role::Review { .. }, None) | (Role::Work, _) => policy::worker_now(state, now_ms),
    }
}

/// Why a review cannot be made now; `None` if it can.
pub(super) fn obstacle(state: &LoopState, now_ms: u64) -> Option<ReviewObstacle> {
    let Some(review) = &state.view.settings.review else {
        return Some(ReviewObstacle::NotConfigured);
    };
    let limited = state.view.limited.get(&review.by.adapter);
    if let Some(until_ms) = limited.copied().filter(|until_ms| *until_ms > now_ms) {
        return Some(ReviewObstacle::Limited { until_ms });
    }
    let reviews = state.internal.reviews.failures;
    if reviews >= FAILURES {
        return Some(ReviewObstacle::Failing { reviews });
    }
    // Reviews do not count towards `maxIterations`.
    let used = Consumption {
        iterations: 0,
        ..consumption_at(&state.view, now_ms, None)
    };
    let limit = reached(LimitScope::Run, &state.view.settings.limits, &used);
    let limit = limit.or_else(|| day_limit_reached(&state.view, now_ms))?;
    Some(ReviewObstacle::LimitReached { limit })
}

/// Whether the result of an iteration is to be reviewed. `claims_done` means that only the review is missing for
/// completion.
pub(super) fn is_wanted(state: &LoopState, outcome: &Outcome, claims_done: bool) -> bool {
    let reviews = &state.internal.reviews;
    let (Some(ReviewSettings { when, .. }), Some(work)) =
        (&state.view.settings.review, state.view.iterations.latest_work())
    else {
        return false;
    };
    // The user was told when reviews were turned off.
    if reviews.is_over || reviews.failures >= FAILURES {
        return false;
    }
    let is_sound = *outcome == Outcome::Completed && work.look.goals.iter().all(|goal| goal.passed);
    let finished = work.closed > 0 || reviews.subject.is_some();
    claims_done || *when == ReviewWhen::Task && is_sound && finished
}

/// Requests a review of the latest iteration's work.
pub(super) fn request(decision: &mut StepDecision, claims_done: bool) {
    let Some(work) = decision.state.view.iterations.latest_work() else {
        return;
    };
    let iteration = work.number;
    let task = work.task.clone().filter(|_| work.closed > 0);
    decision.push(Event::Review(ReviewEvent::Requested {
        iteration,
        task,
        claims_done,
    }));
}

/// Whether reviews are off because the reviewer failed too often.
pub(super) fn is_given_up(state: &LoopState) -> bool {
    state.internal.reviews.failures >= FAILURES
}
