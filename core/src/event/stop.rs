//! The ends of a run and their exit codes.

use serde::{Deserialize, Serialize};

use super::{BackgroundResult, BreakerCause, Hook, Problem, ProblemKind, Proof, Role, Text};

/// How soon a run is to stop, latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopRequest {
    AfterIteration,
    /// The agent is asked to end, and its result is examined.
    Graceful,
    /// The agent is killed.
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

/// Why a run ended. [`StopReason::exit_code`] gives the exit code of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StopReason {
    Done {
        proof: Proof,
        /// The minimum proof that the user requires for success.
        #[serde(default, skip_serializing_if = "Proof::is_default")]
        required: Proof,
    },
    AgentFailed {
        adapter: String,
        problem: Problem,
    },
    /// ralph itself cannot continue.
    Broken {
        why: Breakdown,
    },
    PlanInvalid {
        why: Text,
    },
    LimitReached {
        limit: LimitKind,
    },
    /// The loop made no progress.
    BreakerOpen {
        why: BreakerCause,
    },
    /// No task can continue without the user.
    Blocked {
        question: Text,
    },
    /// Every open task is set aside, this one because it reached its limit.
    TaskLimitReached {
        limit: LimitKind,
        task: Text,
    },
    /// The user requested a stop other than by an interrupt.
    Requested,
    Interrupted,
    Terminated,
    HungUp,
    /// Another run replaced this unfinished one.
    Superseded,
}

/// Why ralph itself cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Breakdown {
    /// ralph's own work exceeded its time limit.
    TimedOut { work: OwnWork, after_ms: u64 },
    /// ralph's own work ended without a result.
    Internal { work: OwnWork },
    /// The files of the run cannot be written.
    StateUnwritable { why: Text },
    /// The user's command before an iteration failed.
    HookFailed { hook: Hook, result: BackgroundResult },
}

/// A step that ralph itself performs around a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum OwnWork {
    /// Before an iteration: checkpoint, plan and prompt.
    Preparing {
        iteration: u32,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    /// After an iteration: checkpoint and plan.
    Settling {
        iteration: u32,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    /// Running the goals.
    Verifying,
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
    /// Only waited for; it ends no run.
    CallsPerHour,
}

/// How the end of a run is rated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    Good,
    /// A problem has to be fixed before the run can continue.
    Bad,
    /// Work remains.
    Unfinished,
}

impl StopReason {
    /// Completion with `proof`, if no minimum is required.
    pub const fn done(proof: Proof) -> Self {
        let required = Proof::Nothing;
        StopReason::Done { proof, required }
    }

    /// Whether the work is done with sufficient proof.
    pub fn is_success(&self) -> bool {
        matches!(self, StopReason::Done { .. }) && !self.lacks_proof()
    }

    /// Whether the work is done with insufficient proof.
    pub fn lacks_proof(&self) -> bool {
        matches!(self, StopReason::Done { proof, required } if proof < required)
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

    /// Whether the user or a signal ended the run, so that the user need not be told.
    pub fn was_asked_for(&self) -> bool {
        matches!(
            self,
            StopReason::Requested | StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp
        )
    }

    /// Whether the run can be continued with its counts, session and messages.
    pub fn can_be_continued(&self) -> bool {
        !self.is_success() && *self != StopReason::Superseded
    }

    /// The problem of the agent. Its text may be long.
    pub fn problem(&self) -> Option<&Problem> {
        let StopReason::AgentFailed { problem, .. } = self else {
            return None;
        };
        Some(problem)
    }

    /// The exit code, as documented in `docs/reference/exit-codes.md` and `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            StopReason::Done { .. } if self.lacks_proof() => 9,
            StopReason::Done { .. } => 0,
            StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::NotInstalled => 4,
            StopReason::AgentFailed { .. } | StopReason::Broken { .. } | StopReason::Superseded => 1,
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
