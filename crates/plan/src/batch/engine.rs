//! The known state of an engine's job, and ends of jobs that only the engine knows.

use ralph_core::json::ReadJson;
use serde::{Deserialize, Serialize};

/// The engine of a batch that names none: child processes of the batch itself.
pub const LOCAL: &str = "local";

/// The job of a plan at its engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineJob {
    /// ralph's name of it, by which it can be found if the engine's answer was lost.
    pub name: String,
    /// The engine's id of it; `None` if it was never received.
    pub id: Option<String>,
    /// The job runs, and does not wait in the queue any more.
    pub began: bool,
}

/// News about a job before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobNews {
    Submitted {
        name: String,
        id: Option<String>,
    },
    Began,
    /// The engine does not answer, or does not do as asked; ralph waits for its jobs.
    Silent {
        why: String,
    },
}

/// The end of a job at its engine, if the engine knows more than the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EngineEnd {
    /// The engine did not accept the job.
    NotSubmitted { why: String },
    /// The engine ended the job before its script began.
    NotStarted { state: String },
    /// ralph withdrew the job before its script began.
    Withdrawn,
    /// The engine ended the job for a reason of its own: a limit, a lost node, other jobs.
    CutOff {
        state: String,
        /// The run has done a task in the meantime.
        progress: bool,
    },
    /// The job was cancelled at the engine.
    Cancelled { state: String },
    /// The engine does not know the job, and its script never began.
    Forgotten,
    /// The engine reports a running job, but the run has ended without recording an end.
    Vanished { state: String },
}

impl EngineEnd {
    /// Whether another job should continue the run.
    pub fn continues(&self) -> bool {
        match self {
            EngineEnd::CutOff { .. } | EngineEnd::Forgotten | EngineEnd::Vanished { .. } => true,
            EngineEnd::NotSubmitted { .. }
            | EngineEnd::NotStarted { .. }
            | EngineEnd::Withdrawn
            | EngineEnd::Cancelled { .. } => false,
        }
    }
}
