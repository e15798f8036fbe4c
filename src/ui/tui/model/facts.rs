//! What a run is made of, as the screen shows it.

use crate::event::{
    CancelReason, Changes, Checkpoint, Delivery, GoalResult, Outcome, Problem, ProblemKind, SteeringId, SteeringKind,
    StopReason, Totals, Usage, Wait,
};

/// What the loop does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Starting,
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
    },
    Ending {
        iteration: u32,
        reason: CancelReason,
    },
    Settling {
        iteration: u32,
    },
    /// The goals are being run.
    Verifying,
    Waiting {
        wait: Wait,
        until_ms: u64,
        attempt: u32,
        why: String,
    },
    /// Paused, and no iteration is running any more.
    Held,
    Stopped,
}

impl Phase {
    /// Moves the end of a wait that stands for a duration, as the loop does.
    pub(super) fn move_with_clock(&mut self, gap_ms: i64) {
        if let Phase::Waiting {
            wait: Wait::Backoff | Wait::Cooldown,
            until_ms,
            ..
        } = self
        {
            *until_ms = until_ms.saturating_add_signed(gap_ms);
        }
    }
}

/// One iteration, running or past.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Iteration {
    pub number: u32,
    pub task: Option<String>,
    pub started_ms: u64,
    /// None while it runs.
    pub outcome: Option<Outcome>,
    pub duration_ms: u64,
    pub output_bytes: u64,
    pub changes: Option<Changes>,
    pub progress: Option<bool>,
    pub usage: Usage,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
}

impl Iteration {
    /// A limit of the agent's ended it: it is repeated and does not count.
    pub fn was_limited(&self) -> bool {
        matches!(
            &self.outcome,
            Some(Outcome::Failed {
                problem: Problem {
                    kind: ProblemKind::RateLimited { .. } | ProblemKind::QuotaExhausted { .. },
                    ..
                }
            })
        )
    }
}

/// A message of the user to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    pub state: MessageState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    Queued,
    Delivered { iteration: u32, how: Delivery },
    Withdrawn,
}

impl Message {
    /// It will be in a prompt yet, so it can be taken back.
    pub fn is_due(&self) -> bool {
        match (self.kind, self.state) {
            (_, MessageState::Withdrawn) => false,
            (SteeringKind::Standing, MessageState::Queued | MessageState::Delivered { .. }) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Queued) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Delivered { .. }) => false,
        }
    }
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub at_ms: u64,
    pub reason: StopReason,
    pub hints: Vec<String>,
    pub totals: Totals,
}

/// What is known of a goal.
#[derive(Debug, Clone, PartialEq)]
pub enum GoalState {
    Unknown,
    Running,
    Checked(Box<GoalResult>),
}
