//! What is asked of a state, without changing it.

use crate::event::{StopReason, Totals};

use super::{feedback::Feedback, phase::Phase, policy, state::LoopState};

impl LoopState {
    pub fn is_paused(&self) -> bool {
        self.paused_by_file || self.paused_by_user
    }

    pub fn is_stopped(&self) -> bool {
        self.stop_reason().is_some()
    }

    /// Why the run is over; none while it is not.
    pub fn stop_reason(&self) -> Option<&StopReason> {
        match &self.phase {
            Phase::Stopped(reason) => Some(reason),
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Running { .. }
            | Phase::Cancelling { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused => None,
        }
    }

    /// Why a message cannot make a run that is over go on; none if it can.
    pub fn closed_for_good(&self) -> Option<String> {
        match self.stop_reason()? {
            StopReason::Superseded => Some("the run was followed by another one".to_owned()),
            // The time since the end counts for nothing.
            _ => policy::limit_reached(self, self.now_ms).map(|limit| limit.used_up()),
        }
    }

    /// Texts of the tasks that nobody works on until the user says something.
    pub fn set_aside(&self) -> Vec<String> {
        self.blocks.iter().filter_map(|block| block.task.clone()).collect()
    }

    /// What the next prompt has to say besides the task.
    pub fn prompt_feedback(&self) -> Vec<Feedback> {
        self.feedback.iter().cloned().chain(self.breaker.diagnosis()).collect()
    }

    pub fn run_totals(&self) -> Totals {
        Totals {
            iterations: self.iteration,
            tasks_done: count(self.plan.done()),
            tasks_open: count(self.plan.open()),
            changes: self.totals,
            usage: self.usage,
            elapsed_ms: self.now_ms.saturating_sub(self.started_ms),
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
