//! Events of a run as a whole.

use std::path::PathBuf;

use serde::Serialize;

use super::{
    CommandRefusal, Hint, LimitKind, List, NewLimits, Notice, PreparedTree, REASONS, RequestedBy, RunId, Settings,
    Spent, StopReason, StopRequest, Text, Totals, plan_change::is_zero,
};
use crate::json::ReadJson;

/// The run as a whole: its beginning, its limits and its end.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The first line of every journal: identifies the format and the version that wrote it.
    JournalOpened {
        format: String,
        version: u32,
        ralph: String,
        run: RunId,
    },
    #[serde(rename = "run-started")]
    Started {
        /// The project's root, absolute.
        project: PathBuf,
        pid: u32,
        settings: Box<Settings>,
        /// The token that the agent has to repeat to claim completion; fresh for each run.
        promise: String,
        /// The number of the run among those of its project, from 1; 0 in journals of older versions.
        #[serde(default, skip_serializing_if = "is_zero")]
        number: u32,
        /// Start times of iterations of earlier runs that still count towards the hourly limit on calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_starts_ms: Vec<u64>,
        /// Spending of earlier runs that may fall on the current day.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_spending: Vec<Spent>,
    },
    /// ralph was killed and resumes from the journal; the settings are those of the new command line.
    #[serde(rename = "run-resumed")]
    Resumed {
        pid: u32,
        /// The version that writes from here on.
        ralph: String,
        settings: Box<Settings>,
    },
    /// An ended run resumes. Its limits keep counting.
    #[serde(rename = "run-reopened")]
    Reopened {
        by: RequestedBy,
        /// True if the user continues the run as it was; false if it continues with a message, which resets the stuck
        /// detector.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        continued: bool,
    },
    /// The work tree of the run was prepared by the settings in `tree`.
    TreePrepared {
        tree: Box<PreparedTree>,
    },
    /// The share `limits.warnAt` of a limit is used.
    LimitNeared {
        limit: LimitKind,
        /// The task that the limit is for; `None` for a limit of the run, the day or the hour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Text>,
        notice: Notice,
    },
    /// The limits of the run were changed.
    LimitsChanged {
        limits: NewLimits,
    },
    /// A command was refused, and the sender does not wait for an answer.
    CommandRefused {
        refusal: CommandRefusal,
        notice: Notice,
    },
    StopRequested {
        stop: StopRequest,
        by: RequestedBy,
    },
    /// A stop after the running iteration was withdrawn.
    StopWithdrawn,
    /// The run ended. The ends of its background tasks and its hooks may follow.
    #[serde(rename = "run-stopped")]
    Stopped {
        reason: StopReason,
        /// Suggested next steps for the user.
        hints: List<Hint, REASONS>,
        totals: Totals,
    },
}

impl RunEvent {
    /// The notice that the event gives to the user, if any.
    pub fn notice(&self) -> Option<Notice> {
        match self {
            RunEvent::LimitNeared { notice, .. } | RunEvent::CommandRefused { notice, .. } => Some(notice.clone()),
            _ => None,
        }
    }
}
