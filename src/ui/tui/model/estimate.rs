//! How long the rest will take, as far as the past tells, and whether there can be any.

use crate::{
    event::{LimitKind, Outcome},
    run::RunView,
};

/// Fewer iterations than these tell nothing.
const LEAST: usize = 2;

/// The median time of an iteration times the open tasks, in milliseconds; none before two iterations have ended and when
/// nothing is open.
pub fn estimate_ms(run: &RunView, now_ms: u64) -> Option<u64> {
    let open = run.plan.open() as u64;
    let mut durations: Vec<u64> = run
        .iterations
        .rows
        .iter()
        .filter(|iteration| iteration.outcome == Some(Outcome::Completed))
        .map(|iteration| iteration.duration_ms)
        .collect();
    if durations.len() < LEAST || open == 0 {
        return None;
    }
    durations.sort_unstable();
    let median = durations[durations.len() / 2];
    // A running iteration has done a part of the first open task.
    let since_ms = run.phase.running_since_ms();
    let done = since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
    Some(median.saturating_mul(open).saturating_sub(done.min(median)))
}

/// The limit that keeps a run that is over from going on with a message.
pub fn used_up(run: &RunView) -> Option<LimitKind> {
    run.limit_reached(run.end()?.at_ms)
}
