//! How long the rest will take, as far as the past tells.

use super::Run;
use crate::event::Outcome;

/// Fewer iterations than these tell nothing.
const LEAST: usize = 2;

impl Run {
    /// The median time of an iteration times the open tasks, in milliseconds; none before two iterations have ended
    /// and when nothing is open.
    pub fn estimate_ms(&self, now_ms: u64) -> Option<u64> {
        let open = self.plan.open() as u64;
        let mut durations: Vec<u64> = self
            .iterations
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
        let done = self.running_since_ms().map_or(0, |since| now_ms.saturating_sub(since));
        Some(median.saturating_mul(open).saturating_sub(done.min(median)))
    }
}
