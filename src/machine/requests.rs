//! What was asked for, by the user or by a limit, in the state.

use crate::event::{CancelReason, PausedBy, RequestedBy, SteeringId, StopRequest};

use super::{
    breaker::Breaker,
    phase::{Phase, SteeringState},
    state::LoopState,
};

impl LoopState {
    /// Begins anew after an end: whoever speaks now has seen what there was to count.
    pub(super) fn reopen(&mut self) {
        self.stop = None;
        self.failures = 0;
        self.breaker = Breaker::default();
        self.enter(Phase::Idle);
    }

    pub(super) fn cancel(&mut self, iteration: u32, reason: CancelReason) {
        let started_ms = match self.phase {
            Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } => started_ms,
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped(_) => self.now_ms,
        };
        self.enter(Phase::Cancelling {
            iteration,
            started_ms,
            reason,
        });
    }

    pub(super) fn set_paused(&mut self, by: PausedBy, paused: bool) {
        match by {
            PausedBy::File => self.paused_by_file = paused,
            PausedBy::User => self.paused_by_user = paused,
        }
    }

    pub(super) fn set_steering(&mut self, id: SteeringId, state: SteeringState) {
        if let Some(steering) = self.steering.iter_mut().find(|steering| steering.id == id) {
            steering.state = state;
        }
    }

    pub(super) fn request_stop(&mut self, stop: StopRequest, by: RequestedBy) {
        self.stop = Some(match self.stop {
            None => (stop, by),
            // Who first asked for more than "after this iteration" decides the exit code.
            Some((StopRequest::AfterIteration, _)) if stop > StopRequest::AfterIteration => (stop, by),
            Some((earlier, first)) => (earlier.max(stop), first),
        });
    }
}
