//! The ends of a run and their exit codes.

use serde::{Deserialize, Serialize};

use super::{
    BackgroundResult, BreakerCause, Hook, LimitKind, List, LostRepository, Problem, ProblemKind, Proof, Role, Text,
};
use crate::json::ReadJson;

/// How soon a run is to stop, latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopRequest {
    AfterIteration,
    /// The agent is asked to end, and its result is examined.
    Graceful,
    /// The agent is killed.
    Immediate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StopReason {
    Done {
        proof: Proof,
        /// The minimum proof that the user requires for success.
        #[serde(default, skip_serializing_if = "Proof::is_default")]
        required: Proof,
        /// The lines of the plan that look like tasks and could not be read.
        #[serde(default, skip_serializing_if = "<[u32]>::is_empty")]
        unread: List<u32>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Breakdown {
    /// ralph's own work exceeded its time limit.
    TimedOut { work: OwnWork, after_ms: u64 },
    /// ralph's own work ended without a result.
    Internal { work: OwnWork },
    /// The files of the run cannot be written.
    StateUnwritable { why: Text },
    /// The tests as they were when the run began cannot be kept, read or put in place.
    NoOriginals { why: Text },
    /// Goals cannot run in a copy of the project, which the settings require.
    NoRoom { why: Text },
    /// The user's command before an iteration failed.
    HookFailed { hook: Hook, result: BackgroundResult },
    /// The repository that the run began with is no longer there.
    RepositoryLost { lost: Box<LostRepository> },
}

/// A step that ralph itself performs around a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
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
        let unread = List::new();
        StopReason::Done {
            proof,
            required,
            unread,
        }
    }

    /// Whether the work is done with sufficient proof.
    pub fn is_success(&self) -> bool {
        matches!(self, StopReason::Done { .. }) && !self.lacks_proof()
    }

    /// Whether the work is done with insufficient proof.
    pub fn lacks_proof(&self) -> bool {
        matches!(self, StopReason::Done { proof, required, .. } if proof < required)
    }

    pub fn kind(&self) -> EndKind {
        self.rating().0
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
        self.rating().1
    }

    /// How the end is rated, and the exit code.
    fn rating(&self) -> (EndKind, u8) {
        match self {
            StopReason::Done { .. } if self.lacks_proof() => (EndKind::Unfinished, 9),
            StopReason::Done { .. } => (EndKind::Good, 0),
            StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::NotInstalled => (EndKind::Bad, 4),
            StopReason::AgentFailed { .. } | StopReason::Broken { .. } => (EndKind::Bad, 1),
            StopReason::PlanInvalid { .. } => (EndKind::Bad, 3),
            StopReason::LimitReached { .. } => (EndKind::Unfinished, 6),
            StopReason::BreakerOpen { .. } => (EndKind::Unfinished, 7),
            StopReason::Blocked { .. } | StopReason::TaskLimitReached { .. } => (EndKind::Unfinished, 8),
            StopReason::Requested | StopReason::Interrupted => (EndKind::Unfinished, 130),
            StopReason::Terminated => (EndKind::Unfinished, 143),
            StopReason::HungUp => (EndKind::Unfinished, 129),
            StopReason::Superseded => (EndKind::Unfinished, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_failed(kind: ProblemKind) -> StopReason {
        StopReason::AgentFailed {
            adapter: "codex".to_owned(),
            problem: Problem::said(kind, "The agent failed."),
        }
    }

    #[test]
    fn work_that_is_done_with_enough_proof_is_a_success_and_is_not_continued() {
        for proof in [Proof::ExitCodes, Proof::Tests] {
            let required = Proof::ExitCodes;
            let done = StopReason::Done {
                proof,
                required,
                unread: List::new(),
            };
            assert!(done.is_success() && !done.can_be_continued(), "{proof:?}");
            assert_eq!((done.kind(), done.exit_code()), (EndKind::Good, 0));
        }
    }

    #[test]
    fn work_that_is_done_with_too_little_proof_is_unfinished_and_can_be_continued() {
        let required = Proof::ExitCodes;
        let proof = Proof::Nothing;
        let done = StopReason::Done {
            proof,
            required,
            unread: List::new(),
        };
        assert!(!done.is_success() && done.can_be_continued());
        assert_eq!((done.kind(), done.exit_code()), (EndKind::Unfinished, 9));
        let without_word = StopReason::done(Proof::Unconfirmed);
        assert!(!without_word.is_success() && without_word.can_be_continued());
    }

    #[test]
    fn the_required_proof_survives_in_a_journal() {
        let (proof, required) = (Proof::ExitCodes, Proof::Tests);
        let done = StopReason::Done {
            proof,
            required,
            unread: List::new(),
        };
        let line = serde_json::to_string(&done).expect("JSON");
        let read: StopReason = serde_json::from_str(&line).expect("a reason");
        assert_eq!(read, done);
    }

    #[test]
    fn a_missing_agent_has_an_exit_code_of_its_own() {
        assert_eq!(agent_failed(ProblemKind::NotInstalled).exit_code(), 4);
        assert_eq!(agent_failed(ProblemKind::Crashed).exit_code(), 1);
        assert_eq!(agent_failed(ProblemKind::Auth).exit_code(), 1);
    }

    #[test]
    fn only_the_end_by_a_failed_agent_has_a_problem() {
        let failed = agent_failed(ProblemKind::Crashed);
        let problem = failed.problem().expect("a problem");
        assert_eq!(
            (problem.kind, &*problem.text),
            (ProblemKind::Crashed, "The agent failed.")
        );
        assert_eq!(failed.kind(), EndKind::Bad);
        assert_eq!(StopReason::Requested.problem(), None);
    }

    #[test]
    fn the_user_need_not_be_told_of_an_end_that_the_user_or_a_signal_requested() {
        for requested in [
            StopReason::Requested,
            StopReason::Interrupted,
            StopReason::Terminated,
            StopReason::HungUp,
        ] {
            assert!(requested.was_asked_for(), "{requested:?}");
        }
        let limit = LimitKind::MaxTime;
        for other in [
            StopReason::done(Proof::Tests),
            StopReason::LimitReached { limit },
            StopReason::Superseded,
            agent_failed(ProblemKind::Crashed),
        ] {
            assert!(!other.was_asked_for(), "{other:?}");
        }
    }

    #[test]
    fn an_unfinished_run_can_be_continued_unless_another_replaced_it() {
        let limit = LimitKind::MaxTime;
        for unfinished in [
            StopReason::Interrupted,
            StopReason::LimitReached { limit },
            agent_failed(ProblemKind::Crashed),
        ] {
            assert!(unfinished.can_be_continued(), "{unfinished:?}");
        }
        assert!(!StopReason::Superseded.can_be_continued());
    }
}
