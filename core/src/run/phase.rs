//! Where a loop can be, and what it waits for there.

use serde::{Deserialize, Serialize};

use crate::event::{CancelReason, Hint, Outcome, StopReason, Totals, Wait, WaitCause};

/// Where the loop is. Each phase names what it waits for, so each has a way out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Phase {
    #[default]
    Idle,
    /// Plan, checkpoint and prompt are being made.
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
        /// Moved by the times in which nobody worked.
        started_ms: u64,
        live_steering: bool,
    },
    /// The session was asked to end; the reason is remembered because the process takes its time.
    Cancelling {
        iteration: u32,
        started_ms: u64,
        reason: CancelReason,
    },
    /// Checkpoint, statistics and plan are being looked at.
    Settling {
        iteration: u32,
        outcome: Outcome,
    },
    /// The goals are being run; iteration 0 is the look before the first.
    Verifying {
        iteration: u32,
        outcome: Outcome,
    },
    Waiting {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 when the wait is not about one.
        attempt: u32,
        why: WaitCause,
    },
    Paused,
    Stopped {
        end: Box<End>,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct End {
    pub at_ms: u64,
    pub reason: StopReason,
    pub hints: Vec<Hint>,
    pub totals: Totals,
}

impl Phase {
    /// When the session that runs, or is being ended, was started.
    pub fn running_since_ms(&self) -> Option<u64> {
        match self {
            Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } => Some(*started_ms),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped { .. } => None,
        }
    }

    /// Why the session is being ended; none while it is not.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        match self {
            Phase::Cancelling { reason, .. } => Some(*reason),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped { .. } => None,
        }
    }

    /// How the iteration ended whose result is looked at.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Phase::Settling { outcome, .. } | Phase::Verifying { outcome, .. } => Some(outcome),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Cancelling { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped { .. } => None,
        }
    }

    /// How the run ended; none while it is not over.
    pub fn end(&self) -> Option<&End> {
        match self {
            Phase::Stopped { end } => Some(end),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Cancelling { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused => None,
        }
    }

    /// Moves the start of a session over a time in which nobody worked.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        if let Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } = self {
            *started_ms = started_ms.saturating_add_signed(gap_ms);
        }
    }

    /// Moves the end of a wait that stands for a duration.
    pub(super) fn delay_wait(&mut self, gap_ms: i64) {
        let Phase::Waiting { wait, until_ms, .. } = self else {
            return;
        };
        match wait {
            Wait::Backoff | Wait::Cooldown => *until_ms = until_ms.saturating_add_signed(gap_ms),
            // As the starts that it is counted from.
            Wait::CallBudget => *until_ms = until_ms.saturating_add_signed(gap_ms.min(0)),
            // Announced as a date, or one of the calendar.
            Wait::LimitReset | Wait::DayBudget => {}
        }
    }
}
