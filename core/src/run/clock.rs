//! Times of a run, and what becomes of them when the clock does not show how much time has passed.
//!
//! Records are stamped by the wall clock. Times that stand for a duration (when the run began, when iterations started)
//! move with it; what somebody announced as a date does not.

use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;

/// Times in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// When the run began, moved by the times in which nobody worked.
    pub started_ms: u64,
    /// When the phase was entered, moved likewise.
    pub entered_ms: u64,
    /// The time of the latest record. A clock that was set back takes it back.
    pub now_ms: u64,
    /// When iterations started within the last hour, those of runs before this one included.
    pub starts_ms: Vec<u64>,
}

impl Clock {
    /// Leaves out a time in which nobody worked: it counts for no limit and no duration. Negative where the clock was set
    /// back.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        self.started_ms = self.started_ms.saturating_add_signed(gap_ms);
        self.entered_ms = self.entered_ms.saturating_add_signed(gap_ms);
        if gap_ms < 0 {
            // Set forward, it is rather a sleep, over which calls grow old.
            for start_ms in &mut self.starts_ms {
                *start_ms = start_ms.saturating_add_signed(gap_ms);
            }
        }
    }

    pub(super) fn count_start(&mut self, at_ms: u64) {
        self.starts_ms.retain(|start_ms| start_ms + HOUR_MS > at_ms);
        self.starts_ms.push(at_ms);
    }

    /// Iterations that started within the hour before `now_ms`.
    pub fn calls_within_hour(&self, now_ms: u64) -> usize {
        let starts = self.starts_ms.iter();
        starts.filter(|start_ms| **start_ms + HOUR_MS > now_ms).count()
    }
}
