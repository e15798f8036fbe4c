//! The report of a run, derived from its view, and its output formats. Pure.
//!
//! The model states only what the records say: figures that an agent did not report are unknown, and results that no
//! goal has shown are unverified. The summary at the end of a run is the report's head.

mod check;
mod head;
mod markdown;
mod model;
mod page;
mod sections;
mod style;
#[cfg(test)]
mod tests;
mod text;

use ralph_core::{
    event::{
        Changes, Checkpoint, Delivery, LimitKind, Outcome, ReviewResult, Role, RunId, SteeringId, SteeringKind,
        StopReason, Totals, Usage,
    },
    run::{Assessment, BackgroundTask, ConfirmedTests, EditChecks, TaskState, Waited},
};
use serde::Serialize;

pub(crate) use head::write_head;
pub(crate) use markdown::{escaped, markdown};
pub(crate) use page::{LineMark, PageLine, PageTone, goals_page, messages_page, page};
pub use style::OutputStyle;
pub(crate) use text::write_text;

/// A report of a whole run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunReport {
    pub run: Option<RunId>,
    pub project: String,
    pub plan: String,
    pub adapter: String,
    pub model: Option<String>,
    /// In milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// Time of the last record, in milliseconds since the Unix epoch.
    pub last_ms: u64,
    /// `None` while the run goes on, and if it was cut off.
    pub end: Option<EndReport>,
    /// Whether a ralph works on the run, as determined when the report was made.
    #[serde(rename = "running")]
    pub is_running: bool,
    pub totals: Totals,
    pub tasks: Vec<TaskReport>,
    /// The check of a plan that had no open task when the run began.
    pub at_start: Assessment,
    pub iterations: Vec<IterationReport>,
    /// Names of the goals that had to be reached.
    pub goals: Vec<String>,
    /// Goal runs after edits, while agents worked.
    pub edit_checks: EditChecks,
    pub steering: Vec<MessageReport>,
    pub waits: Vec<Waited>,
    /// Commands that outlived the iteration in which they were started.
    pub background: Vec<BackgroundTask>,
    /// Permissions granted and denied to the agent, in words, grouped.
    pub permissions: Vec<String>,
    /// Changed tests that were confirmed.
    pub confirmed_tests: Vec<ConfirmedTests>,
    /// Moves of the breaker and rate limits of adapters, in words.
    pub troubles: Vec<String>,
    pub warnings: Vec<String>,
    /// Results that only the agent vouches for, a sentence each.
    pub unverified: Vec<String>,
    /// Matters that wait for the user, a sentence each.
    pub needs_person: Vec<String>,
}

/// Why a run is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndReport {
    pub reason: StopReason,
    pub exit_code: u8,
    pub hints: Vec<String>,
}

/// A task of the plan as last read, or one that has vanished from the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskReport {
    pub text: String,
    pub state: TaskState,
    pub depth: u8,
    /// The iterations assigned to the task.
    pub iterations: Vec<u32>,
    /// Total duration of those that have ended.
    pub duration_ms: u64,
    /// Their total cost, as far as the agent reported it.
    pub cost_usd: Option<f64>,
    /// The question that the agent wants answered before it continues.
    pub question: Option<String>,
    /// The limit for which the task is set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}

/// One session and its results.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IterationReport {
    pub number: u32,
    #[serde(skip_serializing_if = "Role::is_work")]
    pub role: Role,
    pub adapter: String,
    pub model: Option<String>,
    pub task: Option<String>,
    pub resumed: bool,
    /// `None` while the iteration runs, and if its end was not recorded.
    pub outcome: Option<Outcome>,
    /// Duration so far, while the iteration runs.
    pub duration_ms: u64,
    /// Unknown where the agent did not report it.
    pub usage: Usage,
    pub changes: Option<Changes>,
    pub progress: Option<bool>,
    /// The iteration's commits, if they were looked up.
    pub commits: Vec<CommitLine>,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    pub question: Option<String>,
    pub look: Assessment,
    /// The result, if this iteration was a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewResult>,
    /// Whether the changes of the iteration were reverted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommitLine {
    pub id: String,
    pub subject: String,
}

/// A message of the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageReport {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    /// Iterations to which the message was delivered, and how.
    pub delivered: Vec<(u32, Delivery)>,
    pub withdrawn: bool,
}
