//! The report of a run, derived from its view, and its output formats. Pure.
//!
//! The model states only what the records say: figures that an agent did not report are unknown, and results that no
//! goal has shown are unverified. The summary at the end of a run is the report's head.

mod check;
mod first;
mod head;
mod markdown;
mod model;
mod page;
mod sections;
mod style;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use ralph_core::{
    event::{StopReason, Totals},
    run::{RunView, Task},
};
use serde::Serialize;

pub use first::{ChangedFile, ChangedFiles, FileRole, FirstLine, FirstSubject, RemovedLines};
pub use head::write_head;
pub use markdown::{escaped, markdown};
pub use page::{IterationFold, LineMark, PageLine, PageTone, goals_page, messages_page, page, subagents_page};
pub use style::OutputStyle;
pub use text::{write_first, write_text};

/// A report of a whole run: its view, and what the report concludes from it.
#[derive(Debug, Clone, PartialEq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Whether a ralph works on the run, as determined when the report was made.
    #[serde(rename = "running")]
    pub is_running: bool,
    /// Up to which moment durations are counted, in milliseconds since the Unix epoch.
    now_ms: u64,
    /// `None` while the run goes on, and if it was cut off.
    pub end: Option<EndReport>,
    /// The lines to read first, by risk: at most twelve.
    pub first: Vec<FirstLine>,
    /// The files that the run changed, if they were looked up.
    pub files: Option<ChangedFiles>,
    pub totals: Totals,
    /// The tasks of the plan as last read, and those that have vanished from it.
    pub tasks: Vec<Task>,
    /// The commits of each iteration, if they were looked up.
    pub commits: Vec<Vec<CommitLine>>,
    /// Last sentences of the agent, by the number of the iteration. Only a screen has them: the view has no words of
    /// agents.
    #[serde(skip)]
    pub said: BTreeMap<u32, String>,
    /// Permissions granted and denied to the agent, in words, grouped.
    pub permissions: Vec<String>,
    /// Moves of the breaker and rate limits of adapters, in words.
    pub troubles: Vec<String>,
    pub warnings: Vec<String>,
    /// Results that only the agent vouches for, a sentence each.
    pub unverified: Vec<String>,
    /// The results of goals and tests, a sentence each.
    pub evidence: Vec<String>,
    /// Matters that wait for the user, a sentence each.
    pub needs_person: Vec<String>,
    pub view: RunView,
}

/// Why a run is over.
#[derive(Debug, Clone, PartialEq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndReport {
    pub reason: StopReason,
    pub exit_code: u8,
    pub hints: Vec<String>,
}

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitLine {
    pub id: String,
    pub subject: String,
}
