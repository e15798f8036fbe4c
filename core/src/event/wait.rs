//! Waits of the loop.

use serde::{Deserialize, Serialize};

use super::{BreakerCause, LimitKind, LowDisk, Problem, WindowKind};
use crate::json::ReadJson;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    Backoff,
    LimitReset,
    /// `callsPerHour` is reached.
    CallBudget,
    /// `limits.perDay` is reached.
    DayBudget,
    /// A part of the account's window stays free for the user.
    Headroom,
    /// A disk is nearly full. The end of the wait is unknown.
    Disk,
    /// The breaker is open; one more try follows.
    Cooldown,
}

/// The cause of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WaitCause {
    /// The agent failed.
    Failure { problem: Problem },
    /// The hourly limit on calls is reached.
    CallsUsedUp,
    /// A daily limit is reached.
    DayUsedUp { limit: LimitKind },
    /// More of a window of the adapter's account is used than runs may use.
    WindowUsed {
        adapter: String,
        window: WindowKind,
        used_percent: u8,
        /// The share that runs may use at present.
        most_percent: u8,
    },
    /// A disk is nearly full.
    DiskLow { low: LowDisk },
    /// The breaker is open.
    Breaker { why: BreakerCause },
    /// The wait began before ralph was restarted and continues.
    BegunBefore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    Elapsed,
    RetriedNow,
    Stopped,
}
