//! How long the rest will take, as far as the past tells, and whether there can be any.

use super::Run;
use crate::event::{LimitKind, Outcome};

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

    /// The limit that keeps a run that is over from going on with a message.
    pub fn used_up(&self) -> Option<LimitKind> {
        let counted = self
            .iterations
            .iter()
            .filter(|iteration| !iteration.was_limited())
            .count();
        let counted = u32::try_from(counted).unwrap_or(u32::MAX);
        let end_ms = self.end.as_ref()?.at_ms;
        self.settings
            .limits
            .reached(counted, self.elapsed_ms(end_ms), &self.usage)
    }
}
