//! Delays after failures, and the failures that end a run.

use crate::{
    event::{
        Backoff, CancelReason, LimitKind, PermissionRequest, Problem, ProblemClass, ProblemKind, SteeringId, Wait,
        Worker,
    },
    limits::{LimitScope, TurnEnd, by_precedence, consumption_at, limits_now, reached},
};

use super::{
    escalation::{escalated, escalation_due},
    state::LoopState,
};

const HOUR_MS: u64 = 3_600_000;
/// First delay after a rate limit without a known end.
const UNKNOWN_LIMIT_BASE_MS: u64 = 60_000;
const UNKNOWN_LIMIT_MAX_MS: u64 = 1_800_000;
/// Added to an announced reset, because the clocks of server and client differ.
const RESET_MARGIN_MS: u64 = 1_000;

/// Longest wait for a limit that is left to the agent if another adapter could work instead.
const WAIT_LEFT_TO_AGENT_MS: u64 = 60_000;
/// Longest silence of an agent that retries without knowing when its limit ends, if another adapter could work instead.
/// codex and opencode sleep for as long as a server tells them, and do not report how long.
const SILENT_WAIT_LEFT_TO_AGENT_MS: u64 = 15_000;

/// Number of consecutive login refusals that end the iteration. A single one may be a token that is being renewed.
const REFUSALS: u32 = 2;

/// The reaction of the loop to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// A retry would fail the same way.
    Stop,
    Wait {
        wait: Wait,
        until_ms: u64,
    },
    GoOn,
}

pub(super) fn react(state: &LoopState, kind: ProblemKind, now_ms: u64, random: f64) -> Reaction {
    let attempt = state.view.iterations.failures.max(1);
    match kind.class() {
        ProblemClass::Setup => Reaction::Stop,
        ProblemClass::Limit { until_ms } => {
            let unknown = Backoff {
                base_ms: UNKNOWN_LIMIT_BASE_MS,
                max_ms: UNKNOWN_LIMIT_MAX_MS,
                jitter: 0.1,
            };
            let until_ms = match until_ms {
                Some(until_ms) if until_ms > now_ms => until_ms.saturating_add(RESET_MARGIN_MS),
                // A reset in the past means that the clock or the parser is wrong: never retry without a pause.
                Some(_) | None => now_ms.saturating_add(delay_ms(&unknown, attempt, random)),
            };
            Reaction::Wait {
                wait: Wait::LimitReset,
                until_ms,
            }
        }
        ProblemClass::Outage | ProblemClass::SessionLost | ProblemClass::Failure => Reaction::Wait {
            wait: Wait::Backoff,
            until_ms: now_ms.saturating_add(delay_ms(&state.view.settings.backoff, attempt, random)),
        },
        ProblemClass::Restriction => Reaction::GoOn,
    }
}

/// The first message that has not been in a prompt. The run is not done until the agent has seen it, as it may ask for
/// more work.
pub(super) fn undelivered(state: &LoopState) -> Option<SteeringId> {
    let mut queued = state.view.messages.iter().filter(|steering| steering.is_queued());
    queued.next().map(|steering| steering.id)
}

/// The delay `base · 2ⁿ⁻¹`, at most `max`, plus the random part of the jitter.
pub(super) fn delay_ms(backoff: &Backoff, attempt: u32, random: f64) -> u64 {
    let doubled = backoff
        .base_ms
        .saturating_mul(1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX));
    let delay = doubled.min(backoff.max_ms);
    // Both factors are within 0..=1; the product stays far below the precision of f64.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let jitter = (delay as f64 * backoff.jitter.clamp(0.0, 1.0) * random.clamp(0.0, 1.0)) as u64;
    delay.saturating_add(jitter)
}

/// Why the running iteration should be ended; `None` if it may continue.
pub(super) fn reason_to_cancel(state: &LoopState, now_ms: u64) -> Option<CancelReason> {
    if state.internal.refusals >= REFUSALS {
        return Some(CancelReason::LoginRefused);
    }
    if waits_too_long(state, now_ms) {
        return Some(CancelReason::Limited);
    }
    let max_steps = state.view.settings.limits.max_steps;
    if max_steps.is_some_and(|max| state.internal.steps.is_some_and(|steps| steps > max)) {
        return Some(CancelReason::MaxSteps);
    }
    limit_reached(state, now_ms).map(CancelReason::Limit)
}

/// Whether the running agent waits for the end of a limit although work could continue sooner: by another adapter, or
/// by the same agent after a wait of ralph's, if the idle limit would end its own wait.
fn waits_too_long(state: &LoopState, now_ms: u64) -> bool {
    let pending_error = state.internal.pending_error.as_ref();
    let Some(until_ms) = pending_error.and_then(|error| error.kind.limit_ends_ms()) else {
        return false;
    };
    let left_to_agent_ms = match has_stand_in(state, now_ms) {
        true => Some(WAIT_LEFT_TO_AGENT_MS),
        false => state.view.settings.limits.idle_timeout_ms,
    };
    left_to_agent_ms.is_some_and(|left_ms| until_ms.saturating_sub(now_ms) > left_ms)
}

/// Whether an adapter other than the running one could work now.
fn has_stand_in(state: &LoopState, now_ms: u64) -> bool {
    let settings = &state.view.settings;
    let is_free = |adapter: &String| {
        let limited_until_ms = state.view.limited.get(adapter);
        *adapter != state.view.adapter && limited_until_ms.is_none_or(|until_ms| *until_ms <= now_ms)
    };
    !settings.fallback.is_empty() && (is_free(&settings.adapter) || settings.fallback.iter().any(is_free))
}

/// How long the running session may be quiet, in milliseconds, and why it is ended after that; `None` if unlimited.
pub(super) fn quiet_limit(state: &LoopState, now_ms: u64) -> Option<(u64, CancelReason)> {
    let idle_ms = state.view.settings.limits.idle_timeout_ms;
    let is_limited = |error: &Problem| error.kind.is_limit() && error.kind.limit_ends_ms().is_none();
    let waits_in_silence = state.internal.pending_error.as_ref().is_some_and(is_limited) && has_stand_in(state, now_ms);
    match idle_ms {
        Some(idle_ms) if !waits_in_silence || idle_ms < SILENT_WAIT_LEFT_TO_AGENT_MS => {
            Some((idle_ms, CancelReason::IdleTimeout))
        }
        Some(_) | None => waits_in_silence.then_some((SILENT_WAIT_LEFT_TO_AGENT_MS, CancelReason::Limited)),
    }
}

/// The limit that the running iteration reached by a report: of the run, else of the day, of its task or its own.
fn limit_reached(state: &LoopState, now_ms: u64) -> Option<LimitKind> {
    let view = &state.view;
    // The cost of a review does not count towards the task.
    let work = view.iterations.latest().filter(|latest| latest.role.is_work());
    let work = work.and_then(|latest| view.iterations.work.get(latest.task.as_ref()?));
    let (limits, used) = (limits_now(view), consumption_at(view, now_ms, work));
    let mut rows = by_precedence().filter(|row| matches!(row.ends_turn, TurnEnd::ByReport | TurnEnd::ByExcess));
    rows.find(|row| row.is_reached(&limits, &used)).map(|row| row.kind)
}

/// The limit that the use of a tool would exceed if it starts a subagent.
pub(super) fn subagent_limit(state: &LoopState, now_ms: u64, request: &PermissionRequest) -> Option<LimitKind> {
    if request.subagent.is_no() {
        return None;
    }
    let mut with_it = consumption_at(&state.view, now_ms, None);
    with_it.subagents.started += 1;
    with_it.subagents.running += 1;
    reached(LimitScope::Iteration, &state.view.settings.limits, &with_it)
}

pub(super) fn max_time_at(state: &LoopState) -> Option<u64> {
    state
        .view
        .settings
        .limits
        .max_time_ms
        .map(|max| state.view.clock.started_ms.saturating_add(max))
}

/// The worker for the next task if no adapter is limited: as the task requests, else as the run is set, or the worker
/// that took over from them.
pub(super) fn requested_worker(state: &LoopState) -> Worker {
    let settings = &state.view.settings;
    let task = state.task_next();
    let asked = task.map(|task| task.settings.clone()).unwrap_or_default();
    let adapter = asked.adapter.unwrap_or_else(|| settings.adapter.clone());
    let model = asked.model.or_else(|| models_of(state, &adapter));
    escalated(state, task.map(|task| task.text.as_str()), Worker { adapter, model })
}

/// Whether the next iteration is the first one of a worker that takes over the task.
pub(super) fn takes_over(state: &LoopState) -> bool {
    let task = state.task_next();
    let latest = state.view.iterations.latest_work();
    let next = requested_worker(state);
    escalation_due(state, task.map(|task| task.text.as_str())).is_some()
        && latest.is_some_and(|latest| (&latest.adapter, &latest.model) != (&next.adapter, &next.model))
}

/// The run's model if `adapter` is the run's own; another adapter would not know it.
fn models_of(state: &LoopState, adapter: &str) -> Option<String> {
    let settings = &state.view.settings;
    settings.model.clone().filter(|_| adapter == settings.adapter)
}

/// Returns the worker for an iteration that starts now: the preferred one, or the first fallback that is not limited.
///
/// # Errors
/// The earliest time at which one of them is free again, if all are limited.
pub(super) fn worker_at(state: &LoopState, now_ms: u64) -> Result<Worker, u64> {
    let settings = &state.view.settings;
    let wanted = requested_worker(state);
    // Without `fallback`, no other adapter may be used.
    let own = Some(&settings.adapter).filter(|_| !settings.fallback.is_empty());
    let others = own.into_iter().chain(&settings.fallback);
    let others = others
        .filter(|adapter| **adapter != wanted.adapter)
        .map(|adapter| Worker {
            model: models_of(state, adapter),
            adapter: adapter.clone(),
        });
    let mut first_free_ms = u64::MAX;
    for worker in std::iter::once(wanted.clone()).chain(others) {
        match state.view.limited.get(&worker.adapter) {
            Some(until_ms) if *until_ms > now_ms => first_free_ms = first_free_ms.min(*until_ms),
            Some(_) | None => return Ok(worker),
        }
    }
    Err(first_free_ms)
}

/// As [`worker_at`], but returns the preferred worker if all are limited.
///
/// That case is handled when the limit is reported; here it means that the user ended the wait.
pub(super) fn worker_now(state: &LoopState, now_ms: u64) -> Worker {
    worker_at(state, now_ms).unwrap_or_else(|_| requested_worker(state))
}

/// When `callsPerHour` permits the next iteration; `None` if now.
pub(super) fn call_budget_until(state: &LoopState, now_ms: u64) -> Option<u64> {
    let budget = usize::try_from(state.view.settings.limits.calls_per_hour?).unwrap_or(usize::MAX);
    let recent: Vec<u64> = state
        .view
        .clock
        .starts_ms
        .iter()
        .copied()
        .filter(|start| start + HOUR_MS > now_ms)
        .collect();
    let index = recent.len().checked_sub(budget.max(1))?;
    Some(recent[index] + HOUR_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::PlanSnapshot, machine::testing};

    fn backoff() -> Backoff {
        Backoff {
            base_ms: 5_000,
            max_ms: 300_000,
            jitter: 0.1,
        }
    }

    #[test]
    fn delays_double_up_to_the_cap() {
        let delays: Vec<u64> = (1..=8).map(|attempt| delay_ms(&backoff(), attempt, 0.0)).collect();
        assert_eq!(
            delays,
            [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]
        );
    }

    #[test]
    fn a_huge_attempt_neither_overflows_nor_wraps_to_a_short_delay() {
        for attempt in [63, 64, 65, 200, u32::MAX] {
            assert_eq!(delay_ms(&backoff(), attempt, 0.0), 300_000);
        }
    }

    #[test]
    fn jitter_adds_at_most_its_share() {
        assert_eq!(delay_ms(&backoff(), 1, 1.0), 5_500);
        assert_eq!(delay_ms(&backoff(), 1, 0.5), 5_250);
    }

    #[test]
    fn a_rate_limit_waits_until_its_reset_and_a_little() {
        let mut state = LoopState::default();
        state.view.iterations.failures = 1;
        let kind = ProblemKind::RateLimited { until_ms: Some(90_000) };
        assert_eq!(
            react(&state, kind, 10_000, 0.0),
            Reaction::Wait {
                wait: Wait::LimitReset,
                until_ms: 91_000
            }
        );
    }

    #[test]
    fn a_reset_in_the_past_does_not_retry_at_once() {
        let mut state = LoopState::default();
        state.view.iterations.failures = 2;
        let kind = ProblemKind::QuotaExhausted { until_ms: Some(5) };
        assert_eq!(
            react(&state, kind, 10_000, 0.0),
            Reaction::Wait {
                wait: Wait::LimitReset,
                until_ms: 10_000 + 120_000
            }
        );
    }

    #[test]
    fn the_call_budget_frees_an_hour_after_the_oldest_start_that_counts() {
        let mut state = LoopState::default();
        state.view.settings.limits.calls_per_hour = Some(2);
        state.view.clock.starts_ms = vec![1_000, 2_000];
        assert_eq!(call_budget_until(&state, 3_000), Some(1_000 + HOUR_MS));
        assert_eq!(call_budget_until(&state, 1_000 + HOUR_MS), None);
        state.view.clock.starts_ms = vec![1_000];
        assert_eq!(call_budget_until(&state, 3_000), None);
    }

    #[test]
    fn a_reset_that_is_now_does_not_retry_at_once() {
        let mut state = LoopState::default();
        state.view.iterations.failures = 1;
        let kind = ProblemKind::RateLimited { until_ms: Some(10_000) };
        assert_eq!(
            react(&state, kind, 10_000, 0.0),
            Reaction::Wait {
                wait: Wait::LimitReset,
                until_ms: 10_000 + 60_000
            }
        );
    }

    const NOW_MS: u64 = 10;

    /// A run of `own` with model `small`, in which `adapter` runs, and with these limits of adapters.
    fn running(adapter: &str, fallback: &[&str], limited: &[(&str, u64)]) -> LoopState {
        let mut state = LoopState::default();
        let settings = &mut state.view.settings;
        settings.adapter = "own".to_owned();
        settings.model = Some("small".to_owned());
        settings.fallback = fallback.iter().map(|&name| name.to_owned()).collect();
        state.view.adapter = adapter.to_owned();
        let limited = limited.iter().map(|(name, until_ms)| ((*name).to_owned(), *until_ms));
        state.view.limited.extend(limited);
        state
    }

    #[test]
    fn another_adapter_can_take_over_if_the_settings_name_it_and_it_is_free() {
        for (adapter, fallback, limited, expected) in [
            ("own", &["other"][..], &[][..], true),
            ("own", &["other"], &[("other", NOW_MS + 1)], false),
            ("own", &["other"], &[("other", NOW_MS)], true),
            ("other", &["other"], &[], true),
            ("other", &["other"], &[("own", NOW_MS + 1)], false),
            ("special", &[], &[], false),
        ] {
            let state = running(adapter, fallback, limited);
            assert_eq!(
                has_stand_in(&state, NOW_MS),
                expected,
                "{adapter} {fallback:?} {limited:?}"
            );
        }
    }

    #[test]
    fn an_agent_may_be_silent_for_less_time_only_while_it_waits_for_a_limit_without_a_known_end() {
        let minute = (60_000, CancelReason::IdleTimeout);
        let soon = (15_000, CancelReason::Limited);
        let unknown = ProblemKind::RateLimited { until_ms: None };
        let known = ProblemKind::RateLimited { until_ms: Some(20) };
        for (idle_ms, kind, expected) in [
            (60_000, unknown, soon),
            (60_000, known, minute),
            (60_000, ProblemKind::Overloaded, minute),
            (15_000, unknown, soon),
            (14_999, unknown, (14_999, CancelReason::IdleTimeout)),
        ] {
            let mut state = running("own", &["other"], &[]);
            state.view.settings.limits.idle_timeout_ms = Some(idle_ms);
            state.internal.pending_error = Some(Problem::said(kind, "status 429"));
            assert_eq!(quiet_limit(&state, NOW_MS), Some(expected), "{idle_ms} {kind:?}");
        }
    }

    #[test]
    fn the_first_free_worker_works_and_only_the_own_adapter_knows_the_model_of_the_run() {
        let later = NOW_MS + 1;
        let own = ("own", Some("small"));
        let (special, other) = (("special", None), ("other", None));
        for (asked, fallback, limited, expected) in [
            (None, &["other"][..], &[][..], Ok(own)),
            (None, &["other"], &[("own", NOW_MS)], Ok(own)),
            (None, &["other"], &[("own", NOW_MS - 1)], Ok(own)),
            (None, &["other"], &[("own", later)], Ok(other)),
            (None, &["other"], &[("own", later), ("other", later + 1)], Err(later)),
            (None, &[], &[("own", later)], Err(later)),
            (Some("special"), &["other"], &[], Ok(special)),
            (Some("special"), &["other"], &[("special", later)], Ok(own)),
            (
                Some("special"),
                &["other"],
                &[("special", later), ("own", later)],
                Ok(other),
            ),
            (Some("special"), &[], &[("special", later)], Err(later)),
        ] {
            let mut state = running("own", fallback, limited);
            let mut task = testing::task("one", false);
            task.settings.adapter = asked.map(str::to_owned);
            state.view.plan = PlanSnapshot { tasks: vec![task] }.into();
            let found = worker_at(&state, NOW_MS);
            let found = found.as_ref().map(|worker| (&*worker.adapter, worker.model.as_deref()));
            assert_eq!(found, expected.as_ref().copied(), "{asked:?} {fallback:?} {limited:?}");
        }
    }
}
