//! What is known of a job that an engine runs, and how one ends that its run says nothing of.

use serde::{Deserialize, Serialize};

/// The engine of a batch that names none: processes of the batch itself.
pub const LOCAL: &str = "local";

/// The job of a plan, as its engine knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineJob {
    /// What ralph calls it, so that it can be found at an engine that was not heard out.
    pub name: String,
    /// What the engine calls it; none if it was never heard to say.
    pub id: Option<String>,
    /// It runs, and does not wait for its turn any more.
    pub began: bool,
}

/// What is heard of a job while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobNews {
    Submitted {
        name: String,
        id: Option<String>,
    },
    Began,
    /// The engine does not answer, or does not do what it is asked to; its jobs are waited for.
    Silent {
        why: String,
    },
}

/// How a job ended at its engine, where that says more than its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EngineEnd {
    /// The engine did not take the job.
    NotSubmitted { why: String },
    /// The engine ended it before its script began.
    NotStarted { state: String },
    /// It was withdrawn before its script began.
    Withdrawn,
    /// The engine ended it for a reason of its own: a limit, a node that was lost, other jobs.
    CutOff {
        state: String,
        /// The run got somewhere meanwhile.
        progress: bool,
    },
    /// Somebody cancelled it at the engine.
    Cancelled { state: String },
    /// The engine knows nothing of it, and it never began.
    Forgotten,
    /// The engine says that it runs, and its run has ended without a word.
    Vanished { state: String },
}

impl EngineEnd {
    /// Whether another job goes on where this one was.
    pub fn goes_on(&self) -> bool {
        match self {
            EngineEnd::CutOff { .. } | EngineEnd::Forgotten | EngineEnd::Vanished { .. } => true,
            EngineEnd::NotSubmitted { .. }
            | EngineEnd::NotStarted { .. }
            | EngineEnd::Withdrawn
            | EngineEnd::Cancelled { .. } => false,
        }
    }
}
