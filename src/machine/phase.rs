//! Where a loop can be, and what it waits for there.

use crate::event::{CancelReason, Outcome, SteeringId, SteeringKind, StopReason, Wait};

/// Where the loop is. Each phase names what it waits for, so each has a way out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Idle,
    /// Plan, checkpoint and prompt are being made.
    Preparing {
        iteration: u32,
    },
    Running {
        iteration: u32,
        started_ms: u64,
        live_steering: bool,
    },
    /// The session was asked to end; the reason is remembered because the process takes its time.
    Cancelling {
        iteration: u32,
        started_ms: u64,
        reason: CancelReason,
    },
    /// Checkpoint, statistics and plan are being looked at.
    Settling {
        iteration: u32,
        outcome: Outcome,
    },
    /// The goals are being run; iteration 0 is the look before the first.
    Verifying {
        iteration: u32,
        outcome: Outcome,
    },
    Waiting {
        wait: Wait,
        until_ms: u64,
    },
    Paused,
    Stopped(StopReason),
}

/// What keeps an agent from going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub task: Option<String>,
    pub question: String,
}

/// A message of the user and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steering {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    pub state: SteeringState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteeringState {
    Queued,
    Delivered { iteration: u32 },
    Withdrawn,
}

impl Steering {
    /// Belongs into the next prompt.
    pub fn is_due(&self) -> bool {
        match (self.kind, self.state) {
            (_, SteeringState::Withdrawn) => false,
            (SteeringKind::Standing, SteeringState::Queued | SteeringState::Delivered { .. }) => true,
            (SteeringKind::Next | SteeringKind::Now, SteeringState::Queued) => true,
            (SteeringKind::Next | SteeringKind::Now, SteeringState::Delivered { .. }) => false,
        }
    }
}
