//! Times of a run, corrected for jumps of the wall clock.
//!
//! Records carry the time of the wall clock. Times that mark the start of a duration (of the run, of iterations) move
//! with its jumps; dates that were announced, for example the end of a limit, do not.

use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;

/// Times in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// Start of the run.
    pub begun_ms: u64,
    /// Start of the run, moved by idle times: the base of durations.
    pub started_ms: u64,
    /// Start of the phase, moved by idle times.
    pub entered_ms: u64,
    /// Time of the latest record. Jumps back only if the clock was set back.
    pub now_ms: u64,
    /// Start times of iterations within the last hour, including those of earlier runs.
    pub starts_ms: Vec<u64>,
}

impl Clock {
    /// Sets the start of the run.
    pub(super) fn begin(&mut self, at_ms: u64) {
        self.begun_ms = at_ms;
        self.started_ms = at_ms;
    }

    /// Excludes a time without work from all limits and durations. Negative if the clock was set back.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        self.started_ms = self.started_ms.saturating_add_signed(gap_ms);
        self.entered_ms = self.entered_ms.saturating_add_signed(gap_ms);
        if gap_ms < 0 {
            // A jump forward is more likely a sleep, during which earlier calls age.
            for start_ms in &mut self.starts_ms {
                *start_ms = start_ms.saturating_add_signed(gap_ms);
            }
        }
    }

    pub(super) fn count_start(&mut self, at_ms: u64) {
        self.starts_ms.retain(|start_ms| start_ms + HOUR_MS > at_ms);
        self.starts_ms.push(at_ms);
    }

    /// Number of iterations that started within the hour before `now_ms`.
    pub fn calls_within_hour(&self, now_ms: u64) -> usize {
        let starts = self.starts_ms.iter();
        starts.filter(|start_ms| **start_ms + HOUR_MS > now_ms).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_counts_for_an_hour() {
        let mut clock = Clock::default();
        clock.count_start(1_000);
        clock.count_start(2_000);
        assert_eq!(clock.calls_within_hour(1_000 + HOUR_MS - 1), 2);
        assert_eq!(clock.calls_within_hour(1_000 + HOUR_MS), 1);
        assert_eq!(clock.calls_within_hour(2_000 + HOUR_MS), 0);
    }

    #[test]
    fn starts_of_more_than_an_hour_ago_are_not_stored() {
        let mut clock = Clock::default();
        for start_ms in [1_000, 2_000, 1_000 + HOUR_MS] {
            clock.count_start(start_ms);
        }
        assert_eq!(clock.starts_ms, [2_000, 1_000 + HOUR_MS]);
    }

    #[test]
    fn earlier_starts_move_with_a_clock_that_is_set_back_and_age_while_the_machine_sleeps() {
        for (gap_ms, started_ms, starts_ms) in [(300, 1_300, 2_000), (-300, 700, 1_700)] {
            let mut clock = Clock {
                begun_ms: 1_000,
                started_ms: 1_000,
                entered_ms: 1_000,
                now_ms: 2_000,
                starts_ms: vec![2_000],
            };
            clock.skip(gap_ms);
            assert_eq!((clock.started_ms, clock.entered_ms), (started_ms, started_ms));
            assert_eq!(clock.starts_ms, [starts_ms]);
            assert_eq!(clock.begun_ms, 1_000, "the run began when it did");
        }
    }
}
