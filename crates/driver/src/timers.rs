//! The timers the machine has armed, one of each kind.

use std::{collections::BTreeMap, time::Duration};

use ralph_core::machine::{Timer, TimerKind};

#[derive(Debug, Default)]
pub(super) struct Timers(BTreeMap<TimerKind, Timer>);

impl Timers {
    pub(super) fn arm(&mut self, timer: Timer) {
        self.0.insert(timer.kind, timer);
    }

    /// Waits until the next timer is due by the wall clock `now_ms`. Pending for ever when none is armed.
    ///
    /// The timer stays armed until [`Timers::take`], because the clock may be set back before the caller handles it.
    /// The wait uses the monotonic clock; a loop that looks at both clocks from time to time calls this again.
    pub(super) async fn next(&self, now_ms: impl Fn() -> u64) -> Timer {
        loop {
            let Some(timer) = self.0.values().min_by_key(|timer| timer.at_ms).copied() else {
                return std::future::pending().await;
            };
            match timer.at_ms.saturating_sub(now_ms()) {
                0 => return timer,
                left_ms => tokio::time::sleep(Duration::from_millis(left_ms)).await,
            }
        }
    }

    /// Disarms `timer` if it is due and still armed unchanged. Returns whether it did.
    pub(super) fn take(&mut self, timer: Timer, now_ms: u64) -> bool {
        let is_due = now_ms >= timer.at_ms && self.0.get(&timer.kind) == Some(&timer);
        if is_due {
            self.0.remove(&timer.kind);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clock::testing::TestClock, *};

    fn timer(at_ms: u64) -> Timer {
        Timer {
            kind: TimerKind::WaitOver,
            epoch: Some(1),
            at_ms,
        }
    }

    #[tokio::test]
    async fn a_timer_that_is_due_stays_armed_when_the_clock_is_set_back_before_it_is_taken() {
        let hands = TestClock::at(10_000);
        let clock = hands.clock();
        let mut timers = Timers::default();
        timers.arm(timer(10_000));
        assert_eq!(timers.next(|| clock.now_ms()).await, timer(10_000));
        hands.set(-1_000);
        assert!(!timers.take(timer(10_000), clock.now_ms()), "not due any more");
        hands.set(1_000);
        assert_eq!(timers.next(|| clock.now_ms()).await, timer(10_000));
        assert!(timers.take(timer(10_000), clock.now_ms()));
        assert!(!timers.take(timer(10_000), clock.now_ms()), "taken once");
    }

    #[tokio::test]
    async fn a_timer_that_was_armed_anew_meanwhile_is_not_taken() {
        let mut timers = Timers::default();
        timers.arm(timer(10_000));
        let due = timers.next(|| 10_000).await;
        timers.arm(timer(20_000));
        assert!(!timers.take(due, 10_000));
        assert!(timers.take(timer(20_000), 20_000));
    }
}
