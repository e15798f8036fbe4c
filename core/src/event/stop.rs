//! How a run ends, and what its exit code is.

use serde::{Deserialize, Serialize};

use super::{BreakerCause, Problem, ProblemKind, Proof, Role, clip::cut};

/// How soon a run is to stop, from the latest on. The aliases are what journals had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopRequest {
    AfterIteration,
    /// The agent is asked to end, and what it did is looked at.
    #[serde(alias = "in-order")]
    Graceful,
    /// The agent is killed.
    #[serde(alias = "at-once")]
    Immediate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RequestedBy {
    /// SIGINT, or Ctrl-C on a screen.
    Interrupt,
    Terminate,
    Hangup,
    /// `ralph stop`.
    User,
}

/// Why a run is over. [`StopReason::exit_code`] is what the shell sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StopReason {
    Done {
        /// Journals before there were proofs have `verified`.
        #[serde(alias = "verified")]
        proof: Proof,
        /// The least proof that the user takes for success.
        #[serde(default, skip_serializing_if = "Proof::is_default")]
        required: Proof,
    },
    AgentFailed {
        /// Which one; empty in journals of versions that did not tell.
        #[serde(default)]
        adapter: String,
        problem: Problem,
    },
    /// ralph itself cannot go on.
    Broken {
        why: Breakdown,
    },
    PlanInvalid {
        why: String,
    },
    LimitReached {
        limit: LimitKind,
    },
    /// The loop got nowhere.
    BreakerOpen {
        why: BreakerCause,
    },
    /// Nothing can go on without a person.
    Blocked {
        question: String,
    },
    /// Every open task has been set aside, this one because it has used up what one may.
    TaskLimitReached {
        limit: LimitKind,
        task: String,
    },
    /// The user asked for it in order, and it was not an interrupt.
    Requested,
    Interrupted,
    Terminated,
    HungUp,
    /// Another run took over an unfinished one.
    Superseded,
}

/// Why ralph itself cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Breakdown {
    /// Work of ralph's own took longer than it may.
    TimedOut { work: OwnWork, after_ms: u64 },
    /// Work of ralph's own came to no result.
    Internal { work: OwnWork },
    /// Files of the run cannot be written.
    StateUnwritable { why: String },
    /// A clause of an older journal.
    Text { text: String },
}

/// What ralph does itself around a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum OwnWork {
    /// Checkpoint, plan and prompt of the iteration.
    Preparing {
        iteration: u32,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    /// A look at the result of the iteration: its checkpoint and the plan.
    Settling {
        iteration: u32,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    /// The goals.
    Verifying,
}

impl Breakdown {
    pub(super) fn bounded(self) -> Self {
        match self {
            Breakdown::StateUnwritable { why } => Breakdown::StateUnwritable { why: cut(&why) },
            Breakdown::Text { text } => Breakdown::Text { text: cut(&text) },
            Breakdown::TimedOut { .. } | Breakdown::Internal { .. } => self,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    MaxIterations,
    MaxTime,
    MaxCost,
    MaxTokens,
    TaskIterations,
    TaskCost,
    TaskTokens,
    DayCost,
    DayTokens,
}

/// How an end is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    Good,
    /// Something has to be mended before the run can go on.
    Bad,
    /// There is something left to do.
    Unfinished,
}

impl StopReason {
    /// An end with `proof`, where any proof is enough.
    pub const fn done(proof: Proof) -> Self {
        let required = Proof::Nothing;
        StopReason::Done { proof, required }
    }

    /// Whether the work is done, and proven as far as it has to be.
    pub fn is_success(&self) -> bool {
        matches!(self, StopReason::Done { .. }) && !self.lacks_proof()
    }

    /// Whether the work is done, but proven less than it has to be.
    pub fn lacks_proof(&self) -> bool {
        matches!(self, StopReason::Done { proof, required } if proof < required)
    }

    /// With its texts cut to what a record may carry.
    pub(super) fn bounded(self) -> Self {
        match self {
            StopReason::AgentFailed { adapter, problem } => StopReason::AgentFailed {
                adapter,
                problem: problem.bounded(),
            },
            StopReason::Broken { why } => StopReason::Broken { why: why.bounded() },
            StopReason::PlanInvalid { why } => StopReason::PlanInvalid { why: cut(&why) },
            StopReason::BreakerOpen { why } => StopReason::BreakerOpen { why: why.bounded() },
            StopReason::Blocked { question } => StopReason::Blocked {
                question: cut(&question),
            },
            StopReason::TaskLimitReached { limit, task } => StopReason::TaskLimitReached {
                limit,
                task: cut(&task),
            },
            StopReason::Done { .. }
            | StopReason::LimitReached { .. }
            | StopReason::Requested
            | StopReason::Interrupted
            | StopReason::Terminated
            | StopReason::HungUp
            | StopReason::Superseded => self,
        }
    }

    pub fn kind(&self) -> EndKind {
        match self {
            StopReason::Done { .. } if self.lacks_proof() => EndKind::Unfinished,
            StopReason::Done { .. } => EndKind::Good,
            StopReason::AgentFailed { .. } | StopReason::Broken { .. } | StopReason::PlanInvalid { .. } => EndKind::Bad,
            StopReason::LimitReached { .. }
            | StopReason::BreakerOpen { .. }
            | StopReason::Blocked { .. }
            | StopReason::TaskLimitReached { .. }
            | StopReason::Requested
            | StopReason::Interrupted
            | StopReason::Terminated
            | StopReason::HungUp
            | StopReason::Superseded => EndKind::Unfinished,
        }
    }

    /// Whether somebody ended the run, who therefore knows about it.
    pub fn was_asked_for(&self) -> bool {
        match self {
            StopReason::Requested | StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp => true,
            StopReason::Done { .. }
            | StopReason::AgentFailed { .. }
            | StopReason::Broken { .. }
            | StopReason::PlanInvalid { .. }
            | StopReason::LimitReached { .. }
            | StopReason::BreakerOpen { .. }
            | StopReason::Blocked { .. }
            | StopReason::TaskLimitReached { .. }
            | StopReason::Superseded => false,
        }
    }

    /// Whether the run is over only until its user has it continued, with its counts, session and messages.
    pub fn can_be_continued(&self) -> bool {
        match self {
            StopReason::Done { .. } => self.lacks_proof(),
            StopReason::Superseded => false,
            StopReason::AgentFailed { .. }
            | StopReason::Broken { .. }
            | StopReason::PlanInvalid { .. }
            | StopReason::LimitReached { .. }
            | StopReason::BreakerOpen { .. }
            | StopReason::Blocked { .. }
            | StopReason::TaskLimitReached { .. }
            | StopReason::Requested
            | StopReason::Interrupted
            | StopReason::Terminated
            | StopReason::HungUp => true,
        }
    }

    /// What went wrong with the agent; what it says of that may be long.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            StopReason::AgentFailed { problem, .. } => Some(problem),
            StopReason::Done { .. }
            | StopReason::Broken { .. }
            | StopReason::PlanInvalid { .. }
            | StopReason::LimitReached { .. }
            | StopReason::BreakerOpen { .. }
            | StopReason::Blocked { .. }
            | StopReason::TaskLimitReached { .. }
            | StopReason::Requested
            | StopReason::Interrupted
            | StopReason::Terminated
            | StopReason::HungUp
            | StopReason::Superseded => None,
        }
    }

    /// The exit code documented in `docs/reference/exit-codes.md` and `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            StopReason::Done { .. } if self.lacks_proof() => 9,
            StopReason::Done { .. } => 0,
            StopReason::AgentFailed { problem, .. } => match problem.kind {
                ProblemKind::NotInstalled => 4,
                ProblemKind::Auth
                | ProblemKind::ModelUnknown
                | ProblemKind::Usage
                | ProblemKind::RateLimited { .. }
                | ProblemKind::QuotaExhausted { .. }
                | ProblemKind::Overloaded
                | ProblemKind::Network
                | ProblemKind::ContextOverflow
                | ProblemKind::PermissionDenied
                | ProblemKind::TurnLimit
                | ProblemKind::SessionLost
                | ProblemKind::Crashed
                | ProblemKind::Hung
                | ProblemKind::Flood
                | ProblemKind::Other => 1,
            },
            StopReason::Broken { .. } | StopReason::Superseded => 1,
            StopReason::PlanInvalid { .. } => 3,
            StopReason::LimitReached { .. } => 6,
            StopReason::BreakerOpen { .. } => 7,
            StopReason::Blocked { .. } | StopReason::TaskLimitReached { .. } => 8,
            StopReason::Requested | StopReason::Interrupted => 130,
            StopReason::Terminated => 143,
            StopReason::HungUp => 129,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_request_is_read_under_its_earlier_names() {
        for (name, request) in [
            ("after-iteration", StopRequest::AfterIteration),
            ("in-order", StopRequest::Graceful),
            ("graceful", StopRequest::Graceful),
            ("at-once", StopRequest::Immediate),
            ("immediate", StopRequest::Immediate),
        ] {
            let read: StopRequest = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(read, request, "{name}");
        }
    }
}
