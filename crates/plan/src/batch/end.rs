//! How the parts of a batch end, and what stands in the way of a merge.

use ralph_core::event::{Proof, StopReason};
use serde::{Deserialize, Serialize};

use super::{EngineEnd, TestTrouble};

/// How the run of a plan ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum JobEnd {
    /// The run is over, and says why.
    Over { reason: StopReason },
    /// It ended before there was a run.
    Refused {
        code: Option<i32>,
        /// Its error, in its own words.
        said: String,
    },
    /// Its process was killed or broke down in the middle of the run.
    Crashed,
    /// Its engine says how.
    Engine { engine: String, end: EngineEnd },
}

impl JobEnd {
    /// Whether the plan is done, as its run says.
    pub fn is_done(&self) -> bool {
        matches!(self, JobEnd::Over { reason } if reason.is_success())
    }

    /// The proof of a run that is done; none of any other.
    pub fn proof(&self) -> Option<Proof> {
        match self {
            JobEnd::Over {
                reason: StopReason::Done { proof, .. },
            } => Some(*proof),
            JobEnd::Over { .. } | JobEnd::Refused { .. } | JobEnd::Crashed | JobEnd::Engine { .. } => None,
        }
    }

    /// Whether the run is to go on in another job, as often as that may be.
    pub(super) fn is_crash(&self) -> bool {
        match self {
            JobEnd::Crashed => true,
            JobEnd::Engine { end, .. } => end.goes_on(),
            JobEnd::Over { .. } | JobEnd::Refused { .. } => false,
        }
    }

    /// Whether the run got somewhere before its job was cut off: then it is not one that crashes again and again.
    pub(super) fn has_progress(&self) -> bool {
        let JobEnd::Engine { end, .. } = self else { return false };
        matches!(end, EngineEnd::CutOff { progress: true, .. })
    }
}

/// What keeps a finished branch from the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Trouble {
    /// The branch and the target changed the same places.
    Conflict { files: Vec<String> },
    /// Conflict markers of an earlier merge were left in files.
    Markers { files: Vec<String> },
    /// Goals that pass on the branch fail on the merged tree.
    Goals {
        /// What the goals printed, its end.
        output: String,
    },
    /// The goals pass on the merged tree, and its tests do not count.
    Tests { troubles: Vec<TestTrouble> },
}

/// Why a plan is left as it is: nothing of it is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Kept {
    /// Its run ended without being done.
    NotDone {
        end: JobEnd,
    },
    /// The trouble came back after every task that was given because of it.
    NotMerged {
        trouble: Trouble,
    },
    /// Git, or the file system, refused.
    Failed {
        why: String,
    },
    /// The target cannot be moved.
    TargetInUse {
        why: String,
    },
    /// A plan that it waits for was not merged.
    Waits {
        dependency: super::PlanName,
    },
    Cancelled,
}

impl Kept {
    /// Whether its run ended because changed tests are not confirmed.
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self, Kept::NotDone { end } if end.proof() == Some(Proof::Unconfirmed))
    }
}

/// Who stopped a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    User,
    Interrupt,
    Terminate,
    HangUp,
    /// What its plans may use together is used up.
    Budget,
}

/// How a batch is over, for now: a batch that is not merged as a whole can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BatchEnd {
    /// Every plan is merged.
    Merged,
    /// Some are left as they are.
    Incomplete,
    Stopped {
        by: StoppedBy,
    },
}

impl BatchEnd {
    /// What the shell sees.
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
