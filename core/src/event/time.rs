//! Time that passes without work.

use serde::Serialize;

use super::{Day, PausedBy, Wait, WaitCause, WaitEnd};
use crate::json::ReadJson;

/// Time that passes without work: waits, pauses and the clock.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TimeEvent {
    /// The wall clock jumped by `gap_ms` relative to the time that passed for the loop. Every earlier timestamp that
    /// marks the start of a duration moves with it.
    ClockMoved {
        gap_ms: i64,
    },
    /// A new day began in the user's time zone; spending counts against its limits. Recorded only if daily limits are
    /// set.
    DayBegan {
        day: Day,
    },
    WaitStarted {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 if the wait is not due to a failure.
        attempt: u32,
        why: WaitCause,
    },
    WaitEnded {
        cause: WaitEnd,
    },
    /// The loop is to pause: no new iteration starts, a running one finishes.
    Paused {
        by: PausedBy,
    },
    Unpaused {
        by: PausedBy,
    },
    /// The loop stands still because of the pause.
    Held,
}
