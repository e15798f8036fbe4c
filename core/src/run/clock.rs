//! Times of a run, corrected for jumps of the wall clock.
//!
//! Records carry the time of the wall clock. Times that mark the start of a duration (of the run, of iterations) move
//! with its jumps; dates that were announced, for example the end of a limit, do not.

use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;

/// Times in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// Start of the run, moved by idle times.
    pub started_ms: u64,
    /// Start of the phase, moved by idle times.
    pub entered_ms: u64,
    /// Time of the latest record. Jumps back only if the clock was set back.
    pub now_ms: u64,
    /// Start times of iterations within the last hour, including those of earlier runs.
    pub starts_ms: Vec<u64>,
}

impl Clock {
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
