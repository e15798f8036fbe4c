//! The phases of a loop.

use serde::{Deserialize, Serialize};

use crate::event::{CancelReason, Hint, Outcome, StopReason, Totals, Wait, WaitCause};
use crate::json::ReadJson;

/// The phase of the loop. Each phase names what it waits for, so each has a way out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Phase {
    #[default]
    Idle,
    /// The plan is read, the tree checkpointed and the prompt written.
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
        /// Moved by idle times.
        started_ms: u64,
        live_steering: bool,
    },
    /// The session was asked to end. The reason is stored because the process takes its time.
    Cancelling {
        iteration: u32,
        started_ms: u64,
        reason: CancelReason,
    },
    /// Checkpoint, statistics and plan are being examined.
    Settling {
        iteration: u32,
        outcome: Outcome,
    },
    /// The goals are being run. Iteration 0 is the verification before the first iteration.
    Verifying {
        iteration: u32,
        outcome: Outcome,
        /// Whether only the checks of ticked tasks are run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ticks: bool,
    },
    Waiting {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 if the wait is not due to a failure.
        attempt: u32,
        why: WaitCause,
    },
    Paused,
    Stopped {
        end: Box<End>,
    },
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct End {
    pub at_ms: u64,
    pub reason: StopReason,
    pub hints: Vec<Hint>,
    pub totals: Totals,
}

/// A session that is running or being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveSession {
    pub iteration: u32,
    pub started_ms: u64,
    /// Why the session is being ended; `None` if it is not.
    pub cancelled: Option<CancelReason>,
}

impl Phase {
    /// The session that is running or being ended.
    pub fn session(&self) -> Option<ActiveSession> {
        let (iteration, started_ms, cancelled) = match *self {
            Phase::Running {
                iteration, started_ms, ..
            } => (iteration, started_ms, None),
            Phase::Cancelling {
                iteration,
                started_ms,
                reason,
            } => (iteration, started_ms, Some(reason)),
            _ => return None,
        };
        Some(ActiveSession {
            iteration,
            started_ms,
            cancelled,
        })
    }

    /// Start of the session that is running or being ended.
    pub fn running_since_ms(&self) -> Option<u64> {
        self.session().map(|session| session.started_ms)
    }

    /// Why the session is being ended; `None` if it is not.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.session()?.cancelled
    }

    /// The outcome of the iteration whose result is being examined.
    pub fn outcome(&self) -> Option<&Outcome> {
        let (Phase::Settling { outcome, .. } | Phase::Verifying { outcome, .. }) = self else {
            return None;
        };
        Some(outcome)
    }

    /// When the wait of the loop ends; `None` if it does not wait, or if that is unknown.
    pub fn waits_until_ms(&self) -> Option<u64> {
        match self {
            Phase::Waiting { wait: Wait::Disk, .. } => None,
            Phase::Waiting { until_ms, .. } => Some(*until_ms),
            _ => None,
        }
    }

    /// The end of the run; `None` before.
    pub fn end(&self) -> Option<&End> {
        let Phase::Stopped { end } = self else {
            return None;
        };
        Some(end)
    }

    /// Moves the start of a session by a time without work.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        if let Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } = self {
            *started_ms = started_ms.saturating_add_signed(gap_ms);
        }
    }

    /// Moves the end of a wait whose length is a duration.
    pub(super) fn delay_wait(&mut self, gap_ms: i64) {
        let Phase::Waiting { wait, until_ms, .. } = self else {
            return;
        };
        match wait {
            Wait::Backoff | Wait::Cooldown => *until_ms = until_ms.saturating_add_signed(gap_ms),
            // Moves with the start times that it is based on.
            Wait::CallBudget => *until_ms = until_ms.saturating_add_signed(gap_ms.min(0)),
            // A fixed date, or the next look at a disk.
            Wait::LimitReset | Wait::DayBudget | Wait::Headroom | Wait::Disk => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(wait: Wait) -> Phase {
        Phase::Waiting {
            wait,
            until_ms: 9_000,
            attempt: 0,
            why: WaitCause::BegunBefore,
        }
    }

    #[test]
    fn only_a_session_that_is_being_ended_has_a_reason_for_that() {
        let running = Phase::Running {
            iteration: 1,
            started_ms: 5,
            live_steering: false,
        };
        let cancelling = Phase::Cancelling {
            iteration: 1,
            started_ms: 5,
            reason: CancelReason::Skipped,
        };
        assert_eq!((running.cancel_reason(), running.running_since_ms()), (None, Some(5)));
        assert_eq!(cancelling.cancel_reason(), Some(CancelReason::Skipped));
        assert_eq!(cancelling.running_since_ms(), Some(5));
        assert_eq!(
            (Phase::Idle.cancel_reason(), Phase::Idle.running_since_ms()),
            (None, None)
        );
    }

    #[test]
    fn the_end_of_a_wait_is_known_except_for_a_full_disk() {
        assert_eq!(waiting(Wait::Backoff).waits_until_ms(), Some(9_000));
        assert_eq!(waiting(Wait::Disk).waits_until_ms(), None);
        assert_eq!(Phase::Paused.waits_until_ms(), None);
    }

    #[test]
    fn only_a_wait_whose_length_is_a_duration_moves_with_the_clock() {
        for (wait, forward, back) in [
            (Wait::Backoff, 9_300, 8_700),
            (Wait::Cooldown, 9_300, 8_700),
            (Wait::CallBudget, 9_000, 8_700),
            (Wait::LimitReset, 9_000, 9_000),
            (Wait::DayBudget, 9_000, 9_000),
        ] {
            let moved = |gap_ms| {
                let mut phase = waiting(wait);
                phase.delay_wait(gap_ms);
                phase.waits_until_ms()
            };
            assert_eq!((moved(300), moved(-300)), (Some(forward), Some(back)), "{wait:?}");
        }
    }
}
