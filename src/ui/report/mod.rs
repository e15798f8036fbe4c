//! What a run did, for the morning after: a document made of the view of it, and the ways to write it down. Pure.
//!
//! The model says only what the records say: what an agent did not tell is unknown, and what no goal has shown is
//! unverified. The summary at the end of a run is the report's head.

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
    run::{BackgroundTask, ConfirmedTests, EditChecks, Look, TaskState, Waited},
};
use serde::Serialize;

pub(crate) use head::write_head;
pub(crate) use markdown::{escaped, markdown};
pub(crate) use page::{Mark, PageLine, PageTone, goals_page, messages_page, page};
pub use style::Style;
pub(crate) use text::write_text;

/// All of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub run: Option<RunId>,
    pub project: String,
    pub plan: String,
    pub adapter: String,
    pub model: Option<String>,
    /// In milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// When the last record was written.
    pub last_ms: u64,
    /// None while it runs, and when it was cut off.
    pub end: Option<End>,
    /// A ralph works on it, as far as whoever made the report has looked.
    #[serde(rename = "running")]
    pub is_running: bool,
    pub totals: Totals,
    pub tasks: Vec<Task>,
    /// The look at a plan that had no open task when the run began.
    pub at_start: Look,
    pub iterations: Vec<Iteration>,
    /// Names of the goals that had to be reached.
    pub goals: Vec<String>,
    /// How often goals were run after edits, while agents worked.
    pub edit_checks: EditChecks,
    pub steering: Vec<Message>,
    pub waits: Vec<Waited>,
    /// Commands that outlived the iteration in which they were started.
    pub background: Vec<BackgroundTask>,
    /// Moves of the breaker and adapters that were limited, in words.
    /// What the agent was allowed and denied, the same ones counted.
    pub permissions: Vec<String>,
    /// Changes of tests that count.
    pub confirmed_tests: Vec<ConfirmedTests>,
    pub troubles: Vec<String>,
    pub warnings: Vec<String>,
    /// What nobody but the agent has looked at, a sentence each.
    pub unverified: Vec<String>,
    /// What does not go on without a person, a sentence each.
    pub needs_person: Vec<String>,
}

/// Why a run is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub reason: StopReason,
    pub exit_code: u8,
    pub hints: Vec<String>,
}

/// A task of the plan as it was last read, or one that has vanished from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub text: String,
    pub state: TaskState,
    pub depth: u8,
    /// The iterations that were to work on it.
    pub iterations: Vec<u32>,
    /// How long those of them took that have ended.
    pub duration_ms: u64,
    /// What they cost, as far as the agent told.
    pub cost_usd: Option<f64>,
    /// What the agent wants to know before it goes on.
    pub question: Option<String>,
    /// The limit that it has used up, if it is set aside for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}

/// One session and what became of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Iteration {
    pub number: u32,
    #[serde(skip_serializing_if = "Role::is_work")]
    pub role: Role,
    pub adapter: String,
    pub model: Option<String>,
    pub task: Option<String>,
    pub resumed: bool,
    /// None while it runs, and when nobody saw its end.
    pub outcome: Option<Outcome>,
    /// Until now, while it runs.
    pub duration_ms: u64,
    /// Unknown where the agent did not tell.
    pub usage: Usage,
    pub changes: Option<Changes>,
    pub progress: Option<bool>,
    /// The commits it made, where somebody looked them up.
    pub commits: Vec<CommitLine>,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    pub question: Option<String>,
    pub look: Look,
    /// What came of it, if it was a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewResult>,
    /// What it changed was put back.
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
pub(crate) struct Message {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    /// Iterations it was delivered to, and how.
    pub delivered: Vec<(u32, Delivery)>,
    pub withdrawn: bool,
}
