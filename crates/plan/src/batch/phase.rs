//! The phases of a plan, and the task of the driver in each.

use serde::Serialize;

use super::{KeptReason, MergeTrouble};

/// The state of a plan's work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkTree {
    None,
    There,
    /// Removed after the merge.
    Removed,
    /// Merged, but the work tree could not be removed.
    Left,
}

/// The phase of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum PlanPhase {
    /// Waits for a free slot, or for plans that it depends on.
    Waiting,
    /// Its branch and its work tree are being created.
    Preparing,
    /// Waits for a free slot to run again.
    Ready,
    Running,
    /// Completed; waits for the merge.
    Finished,
    /// Is being merged with the target in the scratch work tree.
    Merging,
    /// The goals run on the merged tree.
    Verifying {
        commit: String,
        onto: String,
    },
    /// The target is being moved to the verified commit.
    Moving {
        commit: String,
        onto: String,
    },
    /// Its agent is being given a task because of the merge's trouble.
    Repairing,
    /// Verified; its work is being brought to the remote.
    Delivering,
    /// The remote has its work; its pull request, if it has one, is watched.
    Delivered,
    Merged {
        commit: String,
    },
    Kept {
        why: KeptReason,
    },
}

/// A task of the driver for a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerTask {
    AddWorkTree,
    RunJob,
    Merge,
    CheckGoals { commit: String, onto: String },
    MoveTarget { commit: String, onto: String },
    GiveTask { trouble: MergeTrouble },
    Deliver,
    LookAtRequest,
    RemoveWorkTree,
}
