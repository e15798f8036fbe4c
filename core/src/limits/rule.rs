//! Measures what a run has used of its limits, and tells which of them is reached.

use crate::{
    event::LimitKind,
    run::{RunView, Work},
};

use super::{
    fact::Limits,
    rows::{Consumption, LimitScope, SubagentCount, reached},
};

/// The limits of a run, with the extensions of those of the current day.
pub fn limits_now(view: &RunView) -> Limits {
    let limits = &view.settings.limits;
    Limits {
        per_day: view.spending.limits_today(&limits.per_day),
        ..limits.clone()
    }
}

/// Returns what is used of the limits, for people: of those on a task by the current or next one, of those of a day
/// since the last day began.
pub fn consumption(view: &RunView, now_ms: u64) -> Consumption {
    Consumption {
        today: Some(view.spending.today()),
        ..consumption_at(view, now_ms, view.current_work().as_ref())
    }
}

/// Returns what is used of the limits at `now_ms`, of those on a task by `work`. Nothing is known of a day that is not
/// recorded.
pub fn consumption_at(view: &RunView, now_ms: u64, work: Option<&Work>) -> Consumption {
    let is_known = view.spending.day.is_some_and(|day| day.contains(now_ms));
    Consumption {
        iterations: view.iterations.counted,
        elapsed_ms: view.elapsed_ms(now_ms),
        usage: view.usage,
        changes: view.changes,
        calls: u32::try_from(view.clock.calls_within_hour(now_ms)).unwrap_or(u32::MAX),
        task: work.map(Work::consumption),
        today: is_known.then(|| view.spending.today()),
        subagents: view
            .iterations
            .latest()
            .map_or_else(SubagentCount::default, |latest| SubagentCount {
                started: latest.subagents.started,
                running: latest.subagents.running(),
                depth: latest.subagents.depth,
            }),
    }
}

/// The limit of the run that forbids another iteration.
pub fn run_limit_reached(view: &RunView, now_ms: u64) -> Option<LimitKind> {
    let used = Consumption {
        // Up to `now_ms` also in a run that is over.
        elapsed_ms: now_ms.saturating_sub(view.clock.started_ms),
        ..consumption_at(view, now_ms, None)
    };
    reached(LimitScope::Run, &view.settings.limits, &used)
}

/// The daily limit that is reached at `now_ms`; `None` if the current day was not recorded.
pub fn day_limit_reached(view: &RunView, now_ms: u64) -> Option<LimitKind> {
    reached(LimitScope::Day, &limits_now(view), &consumption_at(view, now_ms, None))
}
