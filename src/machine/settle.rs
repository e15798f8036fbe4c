//! What follows an iteration: done, another one, a wait, a pause or the end.

use crate::event::{
    CancelReason, Claim, Event, Level, LimitKind, Outcome, Problem, ProblemKind, RequestedBy, SessionMode, StopReason,
    StopRequest, Wait,
};

use super::{
    Settlement, gate,
    policy::{self, Reaction},
    state::LoopState,
    step::Decision,
};

/// Records what was found and decides how to go on.
pub(super) fn settled(decision: &mut Decision, now_ms: u64, iteration: u32, outcome: &Outcome, found: &Settlement) {
    let before = decision.state.plan.clone();
    for notice in &found.notices {
        decision.push(Event::Noticed {
            level: notice.level,
            text: notice.text.clone(),
        });
    }
    match &found.plan {
        Ok(plan) => decision.plan_read(plan),
        Err(why) => decision.push(Event::Noticed {
            level: Level::Warning,
            text: why.clone(),
        }),
    }
    let progress = progress(&decision.state, found, decision.state.plan != before);
    decision.push(Event::IterationSettled {
        iteration,
        checkpoint: found.checkpoint.clone(),
        changes: found.changes,
        totals: found.totals,
        progress,
    });
    let mut claims = found.claims.clone();
    if found.plan.is_ok() && decision.state.plan.open() == 0 && *outcome == Outcome::Completed {
        claims.push(Claim::PlanComplete);
    }
    for claim in &claims {
        decision.push(Event::ClaimMade {
            iteration,
            claim: *claim,
        });
    }
    match gate::judge(&decision.state, &claims, found.plan.is_ok(), outcome) {
        gate::Verdict::Done => return decision.stop(StopReason::Done { verified: false }),
        gate::Verdict::Refused(reasons) => decision.push(Event::ClaimRefused { iteration, reasons }),
        gate::Verdict::NoClaim => {}
    }
    if let Some(reason) = requested(&decision.state) {
        return decision.stop(reason);
    }
    if let Err(why) = &found.plan {
        return decision.stop(StopReason::PlanInvalid { why: why.clone() });
    }
    follow(decision, now_ms, outcome, found.random);
}

/// The tree, HEAD or the plan moved; none where nothing can be compared.
fn progress(state: &LoopState, found: &Settlement, plan_changed: bool) -> Option<bool> {
    if plan_changed {
        return Some(true);
    }
    let (now, before) = (found.checkpoint.as_ref()?, state.latest.as_ref()?);
    Some(now.head != before.head || !state.trees.contains(&now.tree))
}

fn follow(decision: &mut Decision, now_ms: u64, outcome: &Outcome, random: f64) {
    match outcome {
        Outcome::Completed | Outcome::Interrupted => next(decision, now_ms),
        Outcome::Failed { problem } => follow_failure(decision, now_ms, problem, random),
        Outcome::Cancelled { reason } => match reason {
            CancelReason::Skipped | CancelReason::Steered | CancelReason::IterationTimeout | CancelReason::Stopped => {
                next(decision, now_ms);
            }
            CancelReason::IdleTimeout => {
                let text = "nothing was written and nothing computed until the idle limit".to_owned();
                follow_failure(
                    decision,
                    now_ms,
                    &Problem {
                        kind: ProblemKind::Hung,
                        text,
                    },
                    random,
                );
            }
            CancelReason::MaxTime => decision.stop(StopReason::LimitReached {
                limit: LimitKind::MaxTime,
            }),
            CancelReason::MaxCost => decision.stop(StopReason::LimitReached {
                limit: LimitKind::MaxCost,
            }),
            CancelReason::MaxTokens => decision.stop(StopReason::LimitReached {
                limit: LimitKind::MaxTokens,
            }),
        },
    }
}

fn follow_failure(decision: &mut Decision, now_ms: u64, problem: &Problem, random: f64) {
    if decision.state.settings.session == SessionMode::Resume
        && let Some(text) = loses_session(problem.kind)
    {
        decision.notice(Level::Warning, text);
    }
    match policy::react(&decision.state, problem.kind, now_ms, random) {
        Reaction::Stop => decision.stop(StopReason::AgentFailed {
            problem: problem.clone(),
        }),
        Reaction::GoOn => next(decision, now_ms),
        Reaction::Wait { wait, until_ms } => {
            // A wait that ends in a limit would only delay the bad news.
            if let Some(limit) = policy::limit_reached(&decision.state, now_ms) {
                return decision.stop(StopReason::LimitReached { limit });
            }
            decision.push(Event::WaitStarted {
                wait,
                until_ms,
                attempt: decision.state.failures,
                why: problem.text.clone(),
            });
        }
    }
}

/// Why the session cannot be continued after such a failure; none if it can.
fn loses_session(kind: ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::SessionLost => Some("the session to continue is not there any more: the next one starts fresh"),
        ProblemKind::ContextOverflow => Some("the session is too long for its model: the next one starts fresh"),
        ProblemKind::NotInstalled
        | ProblemKind::Auth
        | ProblemKind::ModelUnknown
        | ProblemKind::Usage
        | ProblemKind::RateLimited { .. }
        | ProblemKind::QuotaExhausted { .. }
        | ProblemKind::Overloaded
        | ProblemKind::Network
        | ProblemKind::PermissionDenied
        | ProblemKind::TurnLimit
        | ProblemKind::Crashed
        | ProblemKind::Hung
        | ProblemKind::Other => None,
    }
}

/// Starts the next iteration, unless something forbids it.
pub(super) fn next(decision: &mut Decision, now_ms: u64) {
    if let Some(reason) = requested(&decision.state) {
        return decision.stop(reason);
    }
    if let Some(limit) = policy::limit_reached(&decision.state, now_ms) {
        return decision.stop(StopReason::LimitReached { limit });
    }
    if decision.state.is_paused() {
        return decision.push(Event::Held);
    }
    if let Some(until_ms) = policy::call_budget_until(&decision.state, now_ms) {
        return decision.push(Event::WaitStarted {
            wait: Wait::CallBudget,
            until_ms,
            attempt: 0,
            why: "the calls of this hour are used up".to_owned(),
        });
    }
    decision.push(Event::PreparationStarted {
        iteration: decision.state.iteration + 1,
    });
}

/// The reason to stop that was asked for, if one was.
pub(super) fn requested(state: &LoopState) -> Option<StopReason> {
    let (stop, by) = state.stop?;
    Some(match (by, stop) {
        (RequestedBy::Interrupt, _) => StopReason::Interrupted,
        (RequestedBy::Terminate, _) => StopReason::Terminated,
        (RequestedBy::Hangup, _) => StopReason::HungUp,
        (RequestedBy::User, StopRequest::AfterIteration | StopRequest::InOrder | StopRequest::AtOnce) => {
            StopReason::Requested
        }
    })
}
