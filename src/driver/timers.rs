//! The timers the machine has armed, one of each kind.

use std::{collections::BTreeMap, time::Duration};

use crate::machine::{Timer, TimerKind};

#[derive(Debug, Default)]
pub(super) struct Timers(BTreeMap<TimerKind, Timer>);

impl Timers {
    pub(super) fn arm(&mut self, timer: Timer) {
        self.0.insert(timer.kind, timer);
    }

    /// Waits until the next timer is due by the wall clock `now_ms`, and takes it. Pending for ever when none is armed.
    ///
    /// Cancel safe: a timer that was not returned is still armed.
    pub(super) async fn next(&mut self, now_ms: impl Fn() -> u64) -> Timer {
        /// The wall clock may be set, and it runs on while the machine sleeps, which the timer below does not see:
        /// looked at anew at least this often.
        const LOOK_AGAIN: Duration = Duration::from_secs(30);
        loop {
            let Some(timer) = self.0.values().min_by_key(|timer| timer.at_ms).copied() else {
                return std::future::pending().await;
            };
            let left_ms = timer.at_ms.saturating_sub(now_ms());
            if left_ms == 0 {
                self.0.remove(&timer.kind);
                return timer;
            }
            tokio::time::sleep(Duration::from_millis(left_ms).min(LOOK_AGAIN)).await;
        }
    }
}
