//! Ends of jobs, plans and batches, and obstacles to a merge.

use ralph_core::event::{Proof, StopReason};
use ralph_core::json::ReadJson;
use serde::{Deserialize, Serialize};

use super::{EngineEnd, FailedCheck, PullRequest, ReviewThread, TestTrouble};

/// The end of a plan's job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum JobEnd {
    /// The run has ended and recorded the reason.
    Over { reason: StopReason },
    /// The process ended before it began a run.
    Refused {
        code: Option<i32>,
        /// Its error message.
        said: String,
    },
    /// The process was killed or crashed in the middle of the run.
    Crashed,
    /// The engine reported the end.
    Engine { engine: String, end: EngineEnd },
}

impl JobEnd {
    /// Whether the run completed the plan.
    pub fn is_done(&self) -> bool {
        matches!(self, JobEnd::Over { reason } if reason.is_success())
    }

    /// Returns the proof of a completed run; `None` for any other end.
    pub fn proof(&self) -> Option<Proof> {
        match self {
            JobEnd::Over {
                reason: StopReason::Done { proof, .. },
            } => Some(*proof),
            JobEnd::Over { .. } | JobEnd::Refused { .. } | JobEnd::Crashed | JobEnd::Engine { .. } => None,
        }
    }

    /// Whether another job should continue the run, within limits.
    pub(super) fn is_crash(&self) -> bool {
        match self {
            JobEnd::Crashed => true,
            JobEnd::Engine { end, .. } => end.continues(),
            JobEnd::Over { .. } | JobEnd::Refused { .. } => false,
        }
    }

    /// Whether a task was done before the job was interrupted, so that the interruption does not count as a
    /// repeated crash.
    pub(super) fn has_progress(&self) -> bool {
        let JobEnd::Engine { end, .. } = self else { return false };
        matches!(end, EngineEnd::CutOff { progress: true, .. })
    }
}

/// The obstacle to merging a finished branch into the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum MergeTrouble {
    /// The branch and the target changed the same places.
    Conflict { files: Vec<String> },
    /// Conflict markers of an earlier merge were left in files.
    Markers { files: Vec<String> },
    /// Goals that pass on the branch fail on the merged tree.
    Goals {
        /// The end of the goals' output.
        output: String,
    },
    /// The goals pass on the merged tree, but its tests do not count.
    Tests { troubles: Vec<TestTrouble> },
    /// Checks of the pull request fail.
    Checks { failed: Vec<FailedCheck> },
    /// Reviewers of the pull request ask for changes.
    Comments { threads: Vec<ReviewThread> },
}

/// The reason why a plan is left as it is. None of its work is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum KeptReason {
    /// Its run ended without completing the plan.
    NotDone {
        end: JobEnd,
    },
    /// The trouble persisted after every task that was given because of it.
    NotMerged {
        trouble: MergeTrouble,
    },
    /// git or the file system refused.
    Failed {
        why: String,
    },
    /// The target cannot be moved.
    TargetInUse {
        why: String,
    },
    /// A plan that it depends on was not merged.
    Waits {
        dependency: super::PlanName,
    },
    Cancelled,
    /// Its pull request was closed without a merge.
    Closed {
        request: PullRequest,
    },
}

impl MergeTrouble {
    /// Whether it was found in a pull request, and not by a merge.
    pub fn is_of_request(&self) -> bool {
        match self {
            MergeTrouble::Checks { .. } | MergeTrouble::Comments { .. } => true,
            MergeTrouble::Conflict { .. }
            | MergeTrouble::Markers { .. }
            | MergeTrouble::Goals { .. }
            | MergeTrouble::Tests { .. } => false,
        }
    }
}

impl KeptReason {
    /// Whether the run ended because changed tests are not confirmed.
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self, KeptReason::NotDone { end } if end.proof() == Some(Proof::Unconfirmed))
    }

    /// Whether the run ended with a question, which another run could only ask again.
    pub fn is_question(&self) -> bool {
        matches!(
            self,
            KeptReason::NotDone {
                end: JobEnd::Over {
                    reason: StopReason::Blocked { .. }
                }
            }
        )
    }
}

/// The initiator of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    User,
    Interrupt,
    Terminate,
    HangUp,
    /// The shared budget of the plans is spent.
    Budget,
}

/// The end of a batch. A batch that is not merged completely can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BatchEnd {
    /// Every plan is merged.
    Merged,
    /// Some plans are left as they are.
    Incomplete,
    Stopped {
        by: StoppedBy,
    },
}

impl BatchEnd {
    /// Returns the exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            BatchEnd::Merged => 0,
            BatchEnd::Incomplete => 1,
            BatchEnd::Stopped {
                by: StoppedBy::User | StoppedBy::Interrupt,
            } => 130,
            BatchEnd::Stopped {
                by: StoppedBy::Terminate,
            } => 143,
            BatchEnd::Stopped { by: StoppedBy::HangUp } => 129,
            BatchEnd::Stopped { by: StoppedBy::Budget } => 6,
        }
    }
}
